/** The requirements as data, by id. The gate (test/contract/requirements.test.ts) compares them with the tests. */

export interface Requirement {
  readonly id: string;
  /** What it asks, in short. */
  readonly text: string;
  /** The part of the project that brings it; null: it holds now and must have a test. */
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
  1: '--output takes human or json; anything else is a usage error',
  2: '--tui with --output json is refused with exactly one sentence',
  3: 'json mode: stdout is clean JSONL and nothing else',
  4: 'sequence starts at 1 and grows by exactly 1',
  5: 'ts is RFC 3339 UTC with milliseconds and never goes back',
  6: 'run_id is the same on every line, sorts by time, and is the id of the stored run',
  7: "step is 0 before the first model turn and counts the root agent's turns",
  8: 'the external types are exactly eleven, mapped by one table',
  9: 'declared keys are always present; what is not known is null',
  10: 'strings in data are at most 4096 bytes; a cut is said',
  11: 'events come in the order in which they happened; started calls are finished',
  12: 'exactly one run_finished, always the last line, on every path',
  13: 'a failure before a run id exists is one run_finished record',
  14: 'argument errors are ordinary failures on stderr, exit 2',
  15: 'json mode prints no human text; human mode prints no records',
  16: '--events writes the internal events, the same in either mode',
  17: '--stream: text as it arrives; in json mode as model_delta records, only then',
  18: 'the configuration is stored; the fingerprint is over behaviour only',
  19: 'a fixed clock and seed give a byte-identical stream, on any chunking',
  20: 'a reader that goes away or is slow loses nothing',
  21: 'the exit code tells the outcome',
  22: 'on a signal or timeout the whole process tree is ended and the capture kept',
  23: '--final-output writes the whole final text',
  24: 'the ten tests that the contract names exist under these names',
  25: 'the schema is printed, generated, committed; every line validates',
};

const AGENTS: Texts = {
  1: 'adding an agent changes one existing source file: the registry',
  2: 'a decoder never throws: what it does not know is a problem event',
  3: 'no call is lost and none counted twice, on stdout and in session files',
  4: 'every call has its canonical name, native name and table row',
  5: 'the tool table is data and is compared with the tools that the CLI offers',
  6: 'the canonical tools; other names pass through',
  7: 'the canonical input fields; native fields stay beside them',
  8: 'a shell call carries the files that it reads',
  9: "a call's status is one of six; a non-zero exit code is an error",
  10: "tokens and cost are this run's, counted once; unknown is null",
  11: "the end is decided by evidence; the process's exit code 0 alone is none",
  12: "sub-agents' calls have their parent; their text is not the run's",
  13: 'any chunking gives the same events; odd bytes and long lines are survived',
  14: 'a cut stream gives everything before the cut, a problem, and ok: false',
  15: 'session files are read as streams and give the same events',
  16: 'what stdout lacks is filled from the session file; contradictions are listed',
  17: 'tacho agents tells versions and capabilities, compared with the recordings',
  18: 'launching is pure; the prompt arrives exactly; own process group',
  19: 'tacho drift lists what an agent changed; drift never breaks a run',
};

const OUTCOMES: Texts = {
  1: 'the outcome has the same fields whether the run succeeded or not',
  2: 'both vocabularies of OpenCode are read and told apart by shape',
  3: 'a part that is updated many times is one thing',
  4: 'text of the last assistant message only',
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
  5: 'retention policies; what was deleted stays deleted',
  6: 'two processes can use one state folder at once',
  7: 'secrets are redacted in everything that lasts or leaves',
  8: 'ids from outside never become paths; links are not followed',
  9: 'a full or read-only disk is a clear error, and the output is not lost',
  10: 'replay prints exactly what the run printed; verify checks the record',
};

const LIVE: Texts = {
  1: 'each message type is validated field by field',
  2: 'arguments, results and errors arrive exactly',
  3: 'timestamps are those of the events and never go back',
  4: 'request before status before response; one response a call',
  5: 'correlation ids are unique across sessions',
  6: 'long calls get a status; silent ones are closed',
  7: 'acknowledged only after durably stored; stored once',
  8: 'a sender spools while the collector is away',
  9: 'kill -9 of the collector loses no acknowledged message',
  10: 'credits; slow subscribers slow nobody',
  11: 'heartbeats; reconnecting clients go on',
  12: 'the same suite passes on all transports',
  13: 'loopback by default; tokens, permissions, private sockets',
  14: 'input reaches agents that can take it',
  15: 'failures of one touch no other',
  16: 'limits have names and reasons',
  17: "the sender's clock is compared, never silently corrected",
};

const CONFORMANCE: Texts = {
  1: 'one pure rule a criterion, with passing and failing fixtures',
  2: 'the report: checked, failed, rate, threshold, verdict',
  3: 'what could not be judged says so',
  4: 'live counters; failing events are kept',
  5: '1 % of events are drawn for manual verification',
  6: '50,000 messages a second on two cores',
};

const EVALS: Texts = {
  1: 'graders read canonical transcripts only',
  2: 'skill-trigger',
  3: 'the same scenario from different agents gets the same verdict',
  4: 'tool-trajectory',
  5: 'execution-metrics; a figure that is null fails',
  6: 'text graders',
  7: 'code-grader and llm-grader',
  8: 'composite, weights, thresholds, repeats',
  9: 'exit codes of eval',
  10: 'JUnit, annotations, JSONL, a table',
  11: "eval files in AgentV's form work unchanged",
};

const DASHBOARD: Texts = {
  1: 'tacho serve: one URL, loopback only, a token a start',
  2: 'security headers; foreign text is always text',
  3: 'the list of runs',
  4: 'one run: waterfall, transcript, raw lines',
  5: 'live sessions without reload',
  6: 'conformance as a board',
  7: 'the review queue',
  8: 'runs compared call by call',
  9: '100,000 events stay fluid',
  10: 'keyboard, screen readers, light and dark',
  11: 'tested in a real browser',
};

const WATCH: Texts = {
  1: 'one store per user, .tacho here or above instead; every run records its project',
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
  ...requirements('WA', WATCH, now),
  ...requirements('DB', DASHBOARD, inPart('E')),
];
