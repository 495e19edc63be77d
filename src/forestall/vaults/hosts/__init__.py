"""Storage hosts: where fragments and manifests lie. One interface, several back ends."""
