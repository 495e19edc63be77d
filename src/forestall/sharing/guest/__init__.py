"""Guests on a shared host, run so that its owner does not notice.

A manager watches the owner's load and decides; a keeper, the guest's parent, carries that out, and
is there if the manager is gone; a second process ends the guest if the keeper is.
"""
