"""Charts as SVG.

Each chart is a function in the file of its name. It takes plain values and returns an `Svg` whose colours are the CSS
variables of the page. `panel` has the marks of a chart, and writes the picture.
"""
