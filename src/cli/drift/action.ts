/** Runs `tacho drift`. */
import { agentOf } from '../../app/config/agent-of.ts';
import { passingRedactor } from '../../app/config/redaction.ts';
import type { ConvertFrom } from '../../app/sessions/convert.ts';
import { type Finding, lastSession } from '../../app/sessions/drift.ts';
import { type DriftReport, driftReport } from '../../app/sessions/drift-report.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { inputOf } from '../arguments.ts';
import { type Io, printPretty } from '../command.ts';
import { eachFile } from '../each-file.ts';

export interface DriftFlags {
  last?: true;
  from?: ConvertFrom;
  fail?: true;
  json?: true;
}

export async function driftCommand(
  id: string,
  files: readonly string[],
  flags: DriftFlags,
  io: Io,
): Promise<number> {
  const agent = await agentOf(id);
  if ((files.length === 0) !== (flags.last === true) || (flags.last && flags.from === 'stdout'))
    throw usage('name what to compare: one or more FILES, - for standard input, or --last');
  const from = flags.from ?? (flags.last ? 'session' : 'stdout');
  const paths = flags.last ? [await lastSession(agent, io.env)] : files;
  const redactor = await passingRedactor(io.env, { agents: [agent] });
  const { results, unread } = await eachFile(
    paths,
    (path) => driftReport({ agent, from, path, input: inputOf(path), redactor }),
    io,
  );
  const reports = results.map(({ found }) => found);
  const json = paths.length === 1 ? reports[0] : reports;
  await printPretty(io, flags, json, () => textOf(reports, paths.length));
  const drifted = reports.some(({ findings }) => findings.length > 0);
  return unread > 0 || (flags.fail && drifted) ? 1 : 0;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

const WORDS: Record<Finding['code'], string> = {
  unknown_record: 'unknown',
  bad_record: 'lacking',
  decoder_fault: 'fault',
  new_field: 'new',
  gone_field: 'gone',
  bad_line: 'bad',
};

function textOf(reports: readonly DriftReport[], files: number): string {
  if (files === 1) return reports.map((report) => `${linesOf(report).join('\n')}\n`).join('');
  const parts = reports.map((report) => {
    const lines = linesOf(report);
    if (report.findings.length === 0) return `${lines.join('\n')}\n`;
    return `${forTerminal(report.path)}:\n${lines.map((line) => `  ${line}\n`).join('')}`;
  });
  const drifted = reports.filter(({ findings }) => findings.length > 0).length;
  return `${parts.join('')}${plural(files, 'file')}: ${drifted} with something to report\n`;
}

function linesOf({ findings, left_out, path }: DriftReport): string[] {
  if (findings.length === 0) return [`${forTerminal(path)}: nothing unknown, nothing missing`];
  const width = Math.max(...findings.map(({ count }) => String(count).length));
  const lines = findings.map(({ code, what, count, line, file }) => {
    const place = line === null ? '' : ` (first: ${file === null ? '' : `${file} `}line ${line})`;
    return forTerminal(
      `${WORDS[code].padEnd(7)} ${String(count).padStart(width)} × ${what}${place}`,
    );
  });
  if (left_out > 0) lines.push(`and at least ${left_out} more kinds`);
  return lines;
}
