"""Documents that a released version published, which later versions verify."""
