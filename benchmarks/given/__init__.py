"""What benchmarks are measured with: a yardstick and rows that are made up."""
