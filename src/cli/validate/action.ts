/** What `tacho validate` does. */
import { writeFileSync } from 'node:fs';
import { passingRedactor } from '../../app/config/redaction.ts';
import { readBoard } from '../../app/live/board.ts';
import { livePaths } from '../../app/live/paths.ts';
import { reviewTally } from '../../app/live/review.ts';
import { type ValidateFormat, validateInput, validateStored } from '../../app/live/validate.ts';
import type { Report } from '../../conformance/types.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { redactRecord } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { inputOf } from '../arguments.ts';
import { type Io, printPretty } from '../command.ts';
import { boardText, junitOf, reportText } from './text.ts';

export interface ValidateFlags {
  format?: ValidateFormat;
  against?: string;
  strict?: true;
  json?: true;
  junit?: string;
  session?: string;
  stored?: true;
  board?: true;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'validate' });

/** Why a stream that no rule failed does not pass either; null: it does. */
function shortcoming(report: Report, strict: boolean): string | null {
  if (report.lines === 0) return 'there is nothing to judge: the stream is empty';
  if (report.verdict === 'not judged') return 'no rule could be judged';
  if (!strict) return null;
  const open = report.rules.filter(
    ({ verdict, unjudged }) => verdict === 'not judged' || unjudged.length > 0,
  );
  if (open.length > 0) return `--strict: ${open.length} rules were not judged, or not in all parts`;
  return report.over_limits.length > 0 ? '--strict: not all could be judged' : null;
}

export async function validateCommand(
  file: string | undefined,
  flags: ValidateFlags,
  io: Io,
): Promise<number> {
  checkFlags(file, flags);
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag });
  if (flags.board) {
    const board = readBoard(livePaths(state_dir).board);
    const safe = redactRecord(board, redactor);
    await printPretty(io, flags, safe, () => boardText(safe));
    return codeOf(board.report, flags);
  }
  const { session = null, format = null, against } = flags;
  const stored = isStored(flags) || (file === undefined && io.in_is_terminal);
  const judged = stored
    ? await validateStored(state_dir, session)
    : await validateInput(inputOf(file ?? '-'), {
        format,
        against: against === undefined ? null : inputOf(against),
      });
  // What it says of a line may quote it.
  const report = redactRecord(judged, redactor);
  const review = stored ? await reviewTally(state_dir, session) : null;
  if (flags.junit !== undefined) writeJunit(flags.junit, report);
  const json = review === null ? report : { ...report, review };
  await printPretty(io, flags, json, () => reportText(report, review));
  const failed = judged.verdict === 'failed';
  const lacking = failed ? null : shortcoming(judged, flags.strict === true);
  if (lacking !== null) await io.err.write(`error: ${lacking}\n`);
  return failed || lacking !== null ? 1 : 0;
}

const isStored = ({ stored, session }: ValidateFlags) => stored === true || session !== undefined;

function checkFlags(file: string | undefined, flags: ValidateFlags): void {
  const stored = isStored(flags);
  if (flags.board && (stored || file !== undefined)) throw usage('--board stands alone');
  if (stored && file !== undefined)
    throw usage('give a FILE, or --stored (with --session), not both');
  if (flags.against !== undefined && (flags.format ?? 'live') !== 'live')
    throw usage('--against is for the live format');
  if (flags.against !== undefined && (stored || flags.board))
    throw usage('--against needs a FILE to compare');
  if (flags.against === '-' && (file === undefined || file === '-'))
    throw usage('only one of the two streams can be standard input');
  if ((stored || flags.board) && flags.format !== undefined) throw usage('--format is for a FILE');
}

function writeJunit(path: string, report: Report): void {
  try {
    writeFileSync(path, junitOf(report));
  } catch (cause) {
    throw fileError(cause, path, 'validate');
  }
}

const codeOf = (report: Report, { strict }: ValidateFlags) =>
  report.verdict === 'failed' || (strict === true && shortcoming(report, true) !== null) ? 1 : 0;
