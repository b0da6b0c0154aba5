/** Session files → runs, for programs: `tacho import` as a function. */
import { TachoError } from '../../lib/errors.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { Memo } from '../../model/agent.ts';
import { patternsIn } from '../config/redaction.ts';
import { aTime, type TimeOption, timeOf } from '../runs/query.ts';
import { userPrivacy } from '../watch/privacy.ts';
import { importSessions } from './import.ts';
import { findTargets, type Selection } from './import-targets.ts';
import type { Imported } from './imported.ts';

/** Options of `import`. */
export interface ImportOptions {
  /** Id of the agent. Default: all agents that keep session files; needed for `files`. */
  agent?: string | undefined;
  /** Paths of session files. Give exactly one of `files`, `session`, `last` and `all`. */
  files?: readonly string[] | undefined;
  /** Id of a session. */
  session?: string | undefined;
  /** The newest session. */
  last?: true | undefined;
  /** All sessions. */
  all?: true | undefined;
  /** With `last` or `all`: sessions changed at this time or later. */
  since?: TimeOption | undefined;
  /** Patterns of secrets to redact, in addition to the known ones and those of tacho.yaml. */
  redact?: readonly string[] | undefined;
}

const only = is.oneOf([true as const]);

const IMPORT_FIELDS = {
  agent: is.text,
  files: is.filled(is.texts),
  session: is.text,
  last: only,
  all: only,
  since: aTime,
  redact: is.texts,
} as const satisfies Readonly<Record<keyof ImportOptions, is.Fields[string]>>;

const usage = (text: string) => new TachoError('usage', `import: ${text}`, { stage: 'request' });

function selectionOf(options: ImportOptions): Selection {
  const { files, session, last, all } = options;
  const { since } = options;
  const since_ms = since === undefined ? null : timeOf('import: since', since).from_ms;
  const selections: Selection[] = [];
  if (files !== undefined) selections.push({ what: 'files', paths: files });
  if (session !== undefined) selections.push({ what: 'session', session_id: session });
  if (last) selections.push({ what: 'last', since_ms });
  if (all) selections.push({ what: 'all', since_ms });
  const [selection] = selections;
  if (selection === undefined || selections.length > 1)
    throw usage('give exactly one of files, session, last and all');
  if (since_ms !== null && !('since_ms' in selection)) throw usage('since needs last or all');
  return selection;
}

export async function* importForProgram(
  state_dir: string,
  options: ImportOptions,
  say: (text: string) => void,
): AsyncGenerator<Imported> {
  checkOptions('import', options, IMPORT_FIELDS);
  const { env } = process;
  const memo: Memo = new Map();
  const targets = await findTargets(options.agent ?? null, selectionOf(options), { env, memo });
  const { privacy, redact: own } = await userPrivacy(env);
  const redact = [...(await patternsIn(process.cwd(), options.redact)), ...own];
  yield* importSessions(targets, { state_dir, env, redact, memo, privacy, say });
}
