"""The website of a challenge: pages from templates, and the folder that holds them."""
