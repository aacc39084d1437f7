"""What theory promises of low-rank multi-label learning, and measurements against it."""
