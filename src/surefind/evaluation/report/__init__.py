"""Reports: judging, summaries, comparisons and past runs."""
