/** What keeps benchmarks from their goals, in sentences. */

/**
 * By the name of a benchmark: where the time went when somebody looked, and where that is written down. Figures are of
 * two cores that client, engine and database share.
 */
export const LIMITED_BY: Readonly<Record<string, string>> = {
  validate:
    "Small documents: what a verdict costs whatever it judges, of which the forms of parties and totals were a quarter when it was last sampled. Large ones: memory; once rules and grammar go by the forms of lines, arrays that no longer fit the caches are what is left, so that a line of 100,000 costs 1.0 to 1.2 times what one of 1,000 does, as the machine is (D-226). How long a small document takes beside libxml2 is the machine's, too: the program of 22 November, which took 0.088 ms and 0.81 times libxml2's time then, took 0.19 to 0.33 ms in four runs on the machine of 29 November, where the one of that day took 0.18 to 0.25 in eight.",
  send: "Processors: a document has 0.37 ms of the event loop, 0.32 of threads, 0.22 of Postgres and 0.11 of the client, where the limit has 0.48 in all, and 0.82 of both cores are busy. The loop, sampled: runtime and generic operations of V8 42 %, the kernel 9, malloc 9, JSON and UTF-8 of the request 9, garbage 8, our own functions 7, postgres.js 1; by stack a fifth of it are writes to Postgres. The thread: judging 33 % with 26 of generic operations and runtime, gzip 17, malloc 7, messages 2 (D-401).",
  "send-latency":
    "Processors again, for what shares little is dear: a document that comes alone costs 1.1 ms of the event loop, 0.7 of threads, 0.9 of Postgres and 0.5 of the client, three times what one of forty at once does, so that half of the capacity takes 0.8 of both cores. Of 9.2 ms in the engine 2.6 are the thread with its wait, 3.9 the statement with its wait for the one before, and the rest turns of the event loop. At 200 a second p50 is 3 ms, at 400 it is 4 (D-401).",
  poll: "The event loop, which has 0.88 of a core while the client has the rest: an inbox of 20 items is 14 KB of JSON that is made of rows for each request, and the limit says hello without a token, a statement or a row. A third of the requests with thousands of keys asked Postgres for their key as well until D-400.",
  token:
    "The event loop and Postgres, 0.74 and 0.66 of a core; the statement alone, on the same cores, is without HTTP, without the digest of the secret and without the signature of the token, which are the rest. A signature takes 0.11 ms of one thread, and a login is a row that is there for good besides: even its statement alone, 3,351 a second, does not come to half of the signatures.",
  as4: "RSA is 40 % of what the thread that judges does, and that thread is waited for: decryption, signature and verification need one message's time of it each. The rest of a message: reading the header, the verdict, gzip, storing, archiving with fsync (D-350).",
  "end-to-end":
    "Processors: a document has 2.9 ms of the event loop, 6.7 of threads (of which RSA 2.6) and 2.5 of Postgres with both access points in one engine (1.4, 3.05 with 0.9, and 1.0 where RSA takes a third of the time, and the ratio is 0.25), and a sixth of both cores is idle. While a backlog drains the thread that judges has a batch in its hands at 94 % of the time; it computes in 74 %, and in 17 % it can run and waits for a processor, while the other one is idle in turns (D-440). The profile is flat, no function of ours has 2 % (D-371); what was tried without gain stands there, in D-396, D-404 and D-414.",
  history:
    "Nothing that was found: the slowest 13 of 1,327 inboxes decide, and other work had the machine in the run with ten million (load 3.1); the medians are 0.95 and 1.02 ms.",
  box: "What an item starts: each is a whole acceptance and delivery, of which two cores do some 220 a second with both sides in one engine, while 1,667 become due. Firms take turns meanwhile, and nobody is passed over.",
  memory:
    "Two heaps and one database: under sends the engine has 350 MB, of which the event loop's heap is 196 with 87 in use, the threads' heaps and what V8 keeps for compiled code; Postgres has 128 MB of shared buffers and 5 MB for each of its connections. It does not grow.",
  hostile:
    "The tenant who sends 19 MB every five seconds: such a document takes 1.1 to 2.0 s of a thread, 0.4 of a helper that collects garbage, 0.5 of Postgres and 0.7 of the event loop in short turns, on two cores that are all there is; each step of a send takes longer meanwhile, and no one of them most (D-413). Strangers at /as4, logins and statuses cost nothing that could be measured.",
};
