"""The store: where runs work. One directory a run, claimed by one runner at a time, safe against every other."""
