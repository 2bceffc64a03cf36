"""What a server needs beside search: limits, keys and health."""
