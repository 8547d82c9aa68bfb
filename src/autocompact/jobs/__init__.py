"""Jobs: what need not be done at once, done by workers on a PostgreSQL server's queue (Procrastinate).

- `work`: what each job does, in our own terms; it knows no queue. Start reading here.
- `queue`: the one table of jobs, and the queue that is made of it.
- `schema`: the queue's tables, installed and brought up to date.
- `orders`: how a gateway gives a job to the workers, and learns whether there are any.
- `running`: a worker, with the sweeper for jobs whose worker died.

A program without workers does the same work itself: nothing here decides anything that the engine, the retention or the
upkeep does not decide. Whoever imports this package needs the extra ``postgres``.
"""
