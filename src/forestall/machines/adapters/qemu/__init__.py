"""QEMU: virtual machines as processes of this user, and live migration between two of them."""
