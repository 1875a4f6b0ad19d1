"""What every durable or parallel thing stands on.

files: whole files, locks, arrays and tables. jsonl: append-only lines. run_tables: those of runs that take hours.
workers: tasks in this process, in local ones (processes), or on a cluster (dask_cluster).
"""
