/** What `tacho drift` does. */
import { agentOf } from '../../app/config/agent-of.ts';
import { passingRedactor } from '../../app/config/redaction.ts';
import type { ConvertFrom } from '../../app/sessions/convert.ts';
import { type Drift, driftIn, type Finding, lastSession } from '../../app/sessions/drift.ts';
import { TachoError } from '../../lib/errors.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { inputOf } from '../arguments.ts';
import { type Io, printPretty } from '../command.ts';

export interface DriftFlags {
  last?: true;
  from?: ConvertFrom;
  fail?: true;
  json?: true;
}

export async function driftCommand(
  id: string,
  file: string | undefined,
  flags: DriftFlags,
  io: Io,
): Promise<number> {
  const agent = await agentOf(id);
  if ((file === undefined) !== (flags.last === true) || (flags.last && flags.from === 'stdout'))
    throw usage('say what to look at: a FILE, - for standard input, or --last (a session)');
  const from = flags.from ?? (flags.last ? 'session' : 'stdout');
  const path = file ?? (await lastSession(agent, io.env));
  const redactor = await passingRedactor(io.env, { agents: [agent] });
  const found = await driftIn({ agent, from, input: inputOf(path), redactor });
  const findings = found.findings.map((each) => ({ ...each, what: redactor.text(each.what) }));
  const drift = { ...found, findings };
  const { checked_versions } = agent;
  const shown = redactor.text(path);
  const report = { agent: agent.id, checked_versions, from, path: shown, ...drift };
  await printPretty(io, flags, report, () => textOf(drift, shown));
  return flags.fail && findings.length > 0 ? 1 : 0;
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

function textOf({ findings, left_out }: Drift, path: string): string {
  if (findings.length === 0) return `${forTerminal(path)}: nothing that tacho does not know.\n`;
  const width = Math.max(...findings.map(({ count }) => String(count).length));
  const lines = findings.map(({ code, what, count, line, file }) => {
    const place = line === null ? '' : ` (first: ${file === null ? '' : `${file} `}line ${line})`;
    return forTerminal(
      `${WORDS[code].padEnd(7)} ${String(count).padStart(width)} × ${what}${place}`,
    );
  });
  if (left_out > 0) lines.push(`and at least ${left_out} more kinds`);
  return `${lines.join('\n')}\n`;
}
