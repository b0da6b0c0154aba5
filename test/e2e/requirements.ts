/** The requirements as data, by id. test/contract/requirements.test.ts compares them with the tests. */

export interface Requirement {
  readonly id: string;
  /** The requirement, in short. */
  readonly text: string;
  /** The part of the project that will add it; null: it holds now and must have a test. */
  readonly deferred: string | null;
}

type Texts = Readonly<Record<number, string>>;

function requirements(
  prefix: string,
  texts: Texts,
  deferred: (number: number) => string | null,
): Requirement[] {
  return Object.entries(texts).map(([number, text]) => ({
    id: `${prefix}-${number}`,
    text,
    deferred: deferred(Number(number)),
  }));
}

const now = () => null;
const inPart = (part: string) => () => part;

const RUN_EVENTS: Texts = {
  1: '--output accepts human or json; anything else is a usage error',
  2: '--tui with --output json is refused with exactly one sentence',
  3: 'json mode: stdout is clean JSONL and nothing else',
  4: 'sequence starts at 1 and grows by exactly 1',
  5: 'ts is RFC 3339 UTC with milliseconds and never goes back',
  6: 'run_id is the same on every line, sorts by time, and is the id of the stored run',
  7: "step is 0 before the first model turn and counts the root agent's turns",
  8: 'the external types are exactly eleven, mapped by one table',
  9: 'declared keys are always present; unknown values are null',
  10: 'strings in data are at most 4096 bytes; a cut is marked',
  11: 'events are in chronological order; started calls are finished',
  12: 'exactly one run_finished, always the last line, on every path',
  13: 'a failure before a run id exists is one run_finished record',
  14: 'argument errors are ordinary failures on stderr with exit code 2',
  15: 'json mode prints no human text; human mode prints no records',
  16: '--events writes the internal events, the same in either mode',
  17: '--stream: text as it arrives; in json mode as model_delta records, only then',
  18: 'the configuration is stored; the fingerprint covers behaviour only',
  19: 'a fixed clock and seed give a byte-identical stream for any chunking',
  20: 'a reader that disconnects or is slow loses nothing',
  21: 'the exit code reflects the outcome',
  22: 'a signal or timeout ends the whole process tree, and the capture is kept',
  23: '--final-output writes the complete final text',
  24: 'the ten tests named in the contract exist under their names',
  25: 'the schema is printed, generated and committed; every line is valid',
};

const AGENTS: Texts = {
  1: 'adding an agent changes one existing source file: the registry',
  2: 'a decoder never throws: unknown input is a problem event',
  3: 'no call is lost and none counted twice, on stdout and in session files',
  4: 'every call has its canonical name, native name and table row',
  5: 'the tool table is data and is compared with the tools of the CLI',
  6: 'the canonical tools; other names pass through',
  7: 'the canonical input fields; native fields are kept next to them',
  8: 'a shell call lists the files that it reads',
  9: "a call's status is one of six; a non-zero exit code is an error",
  10: 'tokens and cost belong to this run, counted once; unknown is null',
  11: 'evidence decides how a run ended; exit code 0 alone is not evidence',
  12: "calls of sub-agents have their parent; their text is not part of the run's",
  13: 'any chunking gives the same events; odd bytes and long lines are tolerated',
  14: 'a cut stream gives everything before the cut, a problem, and ok: false',
  15: 'session files are read as streams and give the same events',
  16: 'gaps in stdout are filled from the session file; contradictions are listed',
  17: 'tacho agents shows versions and capabilities, compared with the recordings',
  18: 'launching is pure; the prompt arrives exactly; the agent has its own process group',
  19: 'tacho drift lists changes in agent output; drift never breaks a run',
};

const OUTCOMES: Texts = {
  1: 'the outcome has the same fields whether the run succeeded or not',
  2: 'both vocabularies of OpenCode are read, distinguished by shape',
  3: 'a part that is updated many times counts once',
  4: 'the final text is that of the last assistant message',
  5: "tokens and cost are summed over the run's model calls",
  6: 'warnings: retries, permission requests, malformed lines, gaps',
  7: 'stdout and stderr are read together; a non-zero exit loses nothing',
  8: 'malformed lines are skipped with a warning; the parser never fails the run',
  9: '--retries runs the agent again with backoff on retryable failures',
  10: 'artifacts come from calls and from the git work tree, reconciled',
};

const TRANSCRIPTS: Texts = {
  1: 'every run writes a transcript',
  2: 'stream_log: false, summary or raw',
  3: 'log_format is accepted with one warning',
  4: 'transcripts of different agents differ only in what the agents did',
  5: 'convert writes AgentV rows and ATIF',
};

const STORE: Texts = {
  1: 'the runs database holds outcomes only and is at least 90 % smaller than the raw stream',
  2: 'an event is shown only after it is in the journal',
  3: 'kill -9 of tacho at any moment loses nothing; recover finishes the capture',
  4: '10,000 outcomes in under a second; a million events open in under a second',
  5: 'retention policies; deleted runs stay deleted',
  6: 'two processes can use one state folder at the same time',
  7: 'secrets are redacted in everything stored or sent',
  8: 'foreign ids never become paths; links are not followed',
  9: 'a full or read-only disk is a clear error, and the output is not lost',
  10: "replay prints exactly the run's output; verify checks the record",
};

const LIVE: Texts = {
  1: 'each message type is validated field by field',
  2: 'arguments, results and errors arrive exactly',
  3: 'timestamps are event times and never go back',
  4: 'request before status before response; one response per call',
  5: 'correlation ids are unique across sessions',
  6: 'long calls get a status; silent ones are closed',
  7: 'messages are acknowledged only after they are durably stored, and stored once',
  8: 'a sender spools while the collector is unreachable',
  9: 'kill -9 of the collector loses no acknowledged message',
  10: 'credits; slow subscribers do not slow others',
  11: 'heartbeats; reconnecting clients resume',
  12: 'the same suite passes on all transports',
  13: 'loopback by default; tokens, permissions, private sockets',
  14: 'input reaches agents that accept it',
  15: 'a failing peer does not affect others',
  16: 'limits have names and reasons',
  17: "the sender's clock is compared, never silently corrected",
};

const CONFORMANCE: Texts = {
  1: 'one pure rule per criterion, with passing and failing fixtures',
  2: 'the report: checked, failed, rate, threshold, verdict',
  3: 'rules that could not be judged are reported as such',
  4: 'live counters; failing events are stored',
  5: '1 % of events are sampled for manual review',
  6: '50,000 messages per second on two cores',
};

const EVALS: Texts = {
  1: 'graders read canonical transcripts only',
  2: 'skill-trigger',
  3: 'the same scenario from different agents gets the same verdict',
  4: 'tool-trajectory',
  5: 'execution-metrics; an unknown figure fails',
  6: 'text graders',
  7: 'code-grader and llm-grader',
  8: 'composite, weights, thresholds, repeats',
  9: 'the exit codes of eval',
  10: 'JUnit, annotations, JSONL, a table',
  11: 'AgentV eval files work unchanged',
};

const DASHBOARD: Texts = {
  1: 'tacho serve: one URL, loopback only, a new token per start',
  2: 'security headers; foreign text is always text',
  3: 'the list of runs',
  4: 'one run: waterfall, transcript, raw lines',
  5: 'live sessions without a reload',
  6: 'a conformance board',
  7: 'the review queue',
  8: 'runs compared call by call',
  9: '100,000 events stay fluid',
  10: 'keyboard, screen readers, light and dark',
  11: 'tested in a real browser',
};

const WATCH: Texts = {
  1: 'one store per user, or a .tacho folder here or above; every run records its project',
  2: 'watch follows the session stores of all agents; one watcher per store',
  3: 'a session that grows is a run that grows, with the same id',
  4: 'the cost is proportional to the new bytes; nothing journalled is parsed again',
  5: 'file events are hints, stat is the truth; folders that appear later are found',
  6: 'truncated, rewritten, renamed, copied, deleted, compressed and archived files, and databases',
  7: 'files that look like sessions are counted and named; unreadable ones are set aside once',
  8: 'from the write of the agent to the durable event: p95 at most 250 ms',
  9: 'every unfinished run has a state with evidence',
  10: 'the first start imports the newest sessions first, and shows its progress',
  11: "each agent's own retention is reported, and how many sessions it affects",
  12: 'include, exclude, agents, and a metadata-only mode',
  13: 'a service is installed and removed; health is reported',
  14: 'watch --live sends what it follows to a collector',
  15: 'killed at any moment: nothing is lost and nothing twice',
  16: 'notifications by rules: desktop, webhook, command',
};
/** Built in a later session of the same part. */
const WATCH_LATER = new Set([14]);

const SEARCH: Texts = {
  1: 'tacho search finds runs and events by words, phrases, prefixes and fields; mistakes have a position',
  2: 'hits show run, time, agent, project, event and a marked snippet; sorted by relevance or time',
  3: 'the search index has no texts, follows the journal, is rebuildable and forgets removed runs',
  4: 'the first page of a search is fast with 100,000 runs and 10 GB of journal',
  5: 'tacho usage sums up tokens, cost and runs; forks and resumed sessions count once',
  6: 'costs are those of the agent, or computed and marked; unknown stays unknown',
  7: 'every figure of usage can be explained',
  8: 'tacho audit lists destructive commands, secrets, network access and approvals',
};

/** Built by the next merge. */
const USAGE = new Set([5, 6, 7]);

const COMPARING: Texts = {
  1: 'runs are aligned call by call, the first divergence is marked, and --fail-on divergence gates',
  2: 'several runs: shared calls, where they part, distributions, the medoid; used by eval --repeat',
};

export const REQUIREMENTS: readonly Requirement[] = [
  ...requirements('RE', RUN_EVENTS, now),
  ...requirements('AG', AGENTS, now),
  ...requirements('RO', OUTCOMES, now),
  ...requirements('TR', TRANSCRIPTS, now),
  ...requirements('ST', STORE, now),
  ...requirements('LP', LIVE, now),
  ...requirements('CF', CONFORMANCE, now),
  ...requirements('EV', EVALS, now),
  ...requirements('WA', WATCH, (number) => (WATCH_LATER.has(number) ? 'G' : null)),
  ...requirements('SE', SEARCH, (number) => (USAGE.has(number) ? 'G' : null)),
  ...requirements('RR', COMPARING, now),
  ...requirements('DB', DASHBOARD, inPart('E')),
];
