"""Names that belong together, by subject: `fs.judge`, `fs.systems`, `fs.futures`, `fs.hosts`,
`fs.contention`, `fs.style`, `fs.reports` and `fs.screen`. Each module takes up what its subject has
in the rooms, and nothing else; single names are in `forestall` itself.
"""
