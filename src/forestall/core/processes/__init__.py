"""Processes of ours on a host: their files, what they print, their priority and what they use."""
