"""What an organiser does: import submissions, score them, render the site, and decide."""
