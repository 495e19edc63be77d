"""Virtual machines that move before nodes fail."""
