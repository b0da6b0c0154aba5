/** Runs `tacho validate`. */
import { writeFileSync } from 'node:fs';
import { passingRedactor } from '../../app/config/redaction.ts';
import { isCollecting, readBoard } from '../../app/live/board.ts';
import { livePaths } from '../../app/live/paths.ts';
import { reviewTally } from '../../app/live/review.ts';
import { type ValidateFormat, validateInput, validateStored } from '../../app/live/validate.ts';
import { HEAD_BYTES, looksLike } from '../../app/sessions/recognition.ts';
import type { Report } from '../../conformance/types.ts';
import { createColours } from '../../lib/colours.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { headIn } from '../../lib/folders.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { type Redactor, redactRecord } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { inputOf } from '../arguments.ts';
import { type Io, printPretty } from '../command.ts';
import { eachFile } from '../each-file.ts';
import { boardText, filesText, junitOf, type ReportStyle, reportText } from './text.ts';

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

/** Why a stream does not pass although no rule failed, or null. */
function shortcoming(report: Report, strict: boolean): string | null {
  if (report.lines === 0) return 'there is nothing to judge: the stream is empty';
  if (report.verdict === 'not judged') return 'no rule could be judged';
  if (!strict) return null;
  const open = report.rules.filter(
    ({ verdict, unjudged }) => verdict === 'not judged' || unjudged.length > 0,
  );
  if (open.length > 0)
    return `--strict: ${open.length} rules were not judged, or only in part; the report says why`;
  return report.over_limits.length > 0 ? '--strict: not everything could be judged' : null;
}

/** The reason to fail besides failed rules. */
const complaintOf = (report: Report, { strict }: ValidateFlags) =>
  report.verdict === 'failed' ? null : shortcoming(report, strict === true);

export async function validateCommand(
  files: readonly string[],
  flags: ValidateFlags,
  io: Io,
): Promise<number> {
  checkFlags(files, flags);
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag });
  if (flags.board) return showBoard(flags, io, redactor);
  if (isStored(flags) || (files.length === 0 && io.in_is_terminal))
    return judgeStored(flags, io, redactor);
  return judgeFiles(files.length === 0 ? ['-'] : files, flags, io, redactor);
}

const stateOf = ({ state_flag: flag, env }: Io) => resolveStateDir({ flag, env });

const styleOf = ({ colour, out_is_terminal, width }: Io): ReportStyle => ({
  colour: createColours(colour),
  width: out_is_terminal ? width : Number.POSITIVE_INFINITY,
});

async function showBoard(flags: ValidateFlags, io: Io, redactor: Redactor): Promise<number> {
  const paths = livePaths(stateOf(io));
  const board = readBoard(paths.board);
  const safe = redactRecord(board, redactor);
  await printPretty(io, flags, safe, () => boardText(safe, isCollecting(paths), styleOf(io)));
  const { report } = board;
  const incomplete = flags.strict === true && shortcoming(report, true) !== null;
  return report.verdict === 'failed' || incomplete ? 1 : 0;
}

async function judgeStored(flags: ValidateFlags, io: Io, redactor: Redactor): Promise<number> {
  const state_dir = stateOf(io);
  const { session = null } = flags;
  const report = redactRecord(await validateStored(state_dir, session), redactor);
  const review = await reviewTally(state_dir, session);
  if (flags.junit !== undefined) writeJunit(flags.junit, [{ path: null, report }]);
  await printPretty(io, flags, { ...report, review }, () =>
    report.lines === 0 ? '' : reportText(report, styleOf(io), review),
  );
  const where = session === null ? '' : ` of session ${session}`;
  const nothing = `there is nothing to judge: no messages${where} are stored in ${livePaths(state_dir).dir}; tacho serve stores them`;
  return verdict(report, report.lines === 0 ? nothing : complaintOf(report, flags), io);
}

async function verdict(report: Report, complaint: string | null, io: Io): Promise<number> {
  if (complaint !== null) await io.err.write(`error: ${forTerminal(complaint)}\n`);
  return report.verdict === 'failed' || complaint !== null ? 1 : 0;
}

async function judgeFiles(
  paths: readonly string[],
  flags: ValidateFlags,
  io: Io,
  redactor: Redactor,
): Promise<number> {
  const { format = null, against } = flags;
  const sent = against === undefined ? null : inputOf(against);
  const { results, unread } = await eachFile(
    paths,
    async (path) => {
      const judged = await validateInput(inputOf(path), { format, against: sent });
      // A report may quote lines of the stream.
      return redactRecord(judged, redactor);
    },
    io,
  );
  const several = paths.length > 1;
  const judged = results.map(({ path, found: report }) => ({
    path: several ? redactor.text(path) : null,
    report,
    complaint: complaintOf(report, flags),
  }));
  if (flags.junit !== undefined) writeJunit(flags.junit, judged);
  const [first] = judged;
  if (!several && first !== undefined) {
    const { report } = first;
    const foreign = format === null ? await foreignText(paths[0] as string, report) : null;
    const text = () =>
      report.lines === 0 || foreign !== null ? '' : reportText(report, styleOf(io));
    await printPretty(io, flags, report, text);
    return verdict(report, foreign ?? first.complaint, io);
  }
  const reports = judged.map(({ path, report }) => ({ path, ...report }));
  await printPretty(io, flags, reports, () => filesText(judged, unread));
  const failed = judged.some((one) => one.report.verdict === 'failed' || one.complaint !== null);
  return failed || unread > 0 ? 1 : 0;
}

/** A hint for a stream of an unknown format, instead of a report in which no rule could be judged; otherwise null. */
async function foreignText(path: string, report: Report): Promise<string | null> {
  const { format, lines, faulty } = report;
  if (format !== 'live' || lines === 0 || faulty < lines) return null;
  const head = path === '-' ? null : headIn(path, Buffer.alloc(HEAD_BYTES));
  const [like] = head === null ? [] : await looksLike(head);
  const hint =
    like === undefined
      ? 'give --format to judge it nevertheless'
      : `it looks like ${like.from} of ${like.agent}; to convert it: tacho convert --agent ${like.agent} --from ${like.from} --to transcript`;
  return `no line is a live message, a run-event or a transcript: ${hint}`;
}

const isStored = ({ stored, session }: ValidateFlags) => stored === true || session !== undefined;

function checkFlags(files: readonly string[], flags: ValidateFlags): void {
  const stored = isStored(flags);
  const given = files.length > 0;
  if (flags.board && (stored || given))
    throw usage('--board cannot be combined with FILES, --stored or --session');
  if (stored && given) throw usage('use either FILES, or --stored or --session');
  if (flags.against !== undefined && (flags.format ?? 'live') !== 'live')
    throw usage('--against works only with the live format');
  if (flags.against !== undefined && (stored || flags.board || files.length > 1))
    throw usage('--against needs one FILE to compare');
  if (flags.against === '-' && (!given || files[0] === '-'))
    throw usage('only one of the two streams can be standard input');
  if ((stored || flags.board) && flags.format !== undefined)
    throw usage('--format works only with FILES');
}

function writeJunit(path: string, judged: Parameters<typeof junitOf>[0]): void {
  try {
    writeFileSync(path, junitOf(judged));
  } catch (cause) {
    throw fileError(cause, path, 'validate');
  }
}
