/** What `tacho validate` does. */
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { passingRedactor } from '../../app/config/redaction.ts';
import { type BoardState, readBoard } from '../../app/live/board.ts';
import { livePaths } from '../../app/live/paths.ts';
import { type ReviewTally, reviewTally } from '../../app/live/review.ts';
import {
  type ValidateFormat,
  type ValidateInput,
  validateInput,
  validateStored,
} from '../../app/live/validate.ts';
import type { Report } from '../../conformance/types.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { redactRecord } from '../../redact/event.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { stateFlag } from '../state.ts';
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

interface ValidateRequest {
  file: string | undefined;
  flags: ValidateFlags;
  command: Command;
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

export async function validateCommand(request: ValidateRequest, io: Io): Promise<number> {
  const { flags } = request;
  checkFlags(request);
  const state_dir = resolveStateDir({
    flag: stateFlag(request.command),
    env: io.env,
    cwd: process.cwd(),
  });
  const redactor = await passingRedactor(io.env, { state_dir: stateFlag(request.command) });
  if (flags.board) {
    const board = readBoard(livePaths(state_dir).board);
    await showBoard(redactRecord(board, redactor), flags, io);
    return codeOf(board.report, flags);
  }
  const stored = isStored(request, io);
  const judged = stored
    ? await validateStored(state_dir, flags.session ?? null)
    : await validateInput(inputOf(request.file ?? '-'), {
        format: flags.format ?? null,
        against: flags.against === undefined ? null : inputOf(flags.against),
      });
  // What it says of a line may quote it.
  const report = redactRecord(judged, redactor);
  const review = stored ? await reviewTally(state_dir, flags.session ?? null) : null;
  await show({ report, review, flags }, io);
  const failed = judged.verdict === 'failed';
  const lacking = failed ? null : shortcoming(judged, flags.strict === true);
  if (lacking !== null) await io.err.write(`error: ${lacking}\n`);
  return failed || lacking !== null ? 1 : 0;
}

interface Shown {
  report: Report;
  review: ReviewTally | null;
  flags: ValidateFlags;
}

async function show({ report, review, flags }: Shown, io: Io): Promise<void> {
  if (flags.junit !== undefined) writeJunit(flags.junit, report);
  const json = review === null ? report : { ...report, review };
  if (flags.json) await io.out.json(`${JSON.stringify(json, null, 2)}\n`);
  else await io.out.write(reportText(report, review));
}

function checkFlags({ file, flags }: ValidateRequest): void {
  const stored = flags.stored === true || flags.session !== undefined;
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

function isStored({ file, flags }: ValidateRequest, io: Io): boolean {
  if (flags.stored || flags.session !== undefined) return true;
  return file === undefined && io.in_is_terminal;
}

const inputOf = (path: string): ValidateInput =>
  path === '-' ? (process.stdin as AsyncIterable<Uint8Array>) : path;

function writeJunit(path: string, report: Report): void {
  try {
    writeFileSync(path, junitOf(report));
  } catch (cause) {
    throw fileError(cause, path, 'validate');
  }
}

async function showBoard(board: BoardState, flags: ValidateFlags, io: Io): Promise<void> {
  if (flags.json) await io.out.json(`${JSON.stringify(board, null, 2)}\n`);
  else await io.out.write(boardText(board));
}

const codeOf = (report: Report, { strict }: ValidateFlags) =>
  report.verdict === 'failed' || (strict === true && shortcoming(report, true) !== null) ? 1 : 0;
