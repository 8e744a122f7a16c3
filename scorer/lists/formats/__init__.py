"""One module for each format of solutions and submissions."""
