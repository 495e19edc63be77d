"""The warden: a process of its own that drains, resumes and reboots nodes, reached through a Unix
socket, so that nobody else holds the rights to do so."""
