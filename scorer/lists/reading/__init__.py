"""How files become Arrow batches: bytes, blocks of lines, columns, and the batches that formats make of them."""
