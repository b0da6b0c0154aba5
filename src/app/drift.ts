/** What a recording holds that the agent's adapter does not know, or misses (AG-19). */
import { fromByteText } from '../lib/byte-text.ts';
import { TachoError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Event } from '../model/event.ts';
import { type ConvertOptions, eventsOf } from './convert.ts';

/** Codes of problems by which an adapter says that the agent speaks otherwise than it knows. */
const CODES = ['unknown_record', 'bad_record', 'decoder_fault'] as const;

export interface Finding {
  code: (typeof CODES)[number];
  /** The type of the record, or what it lacks. */
  what: string;
  count: number;
  /** Where it stands first: line 3 is the third line of the file. */
  line: number | null;
  /** The session file it stands first in, where a session has several. */
  file: string | null;
}

export interface Drift {
  findings: Finding[];
  /** Kinds of findings beyond the limit. */
  left_out: number;
}

export async function driftIn(options: ConvertOptions): Promise<Drift> {
  const findings = new Map<string, Finding>();
  const left_out = new Set<string>();
  for await (const events of eventsOf({ ...options, byte_text: true })) {
    for (const event of events) note(event, findings, left_out);
  }
  const order = (finding: Finding) => CODES.indexOf(finding.code);
  const sorted = [...findings.values()].sort((a, b) => order(a) - order(b) || b.count - a.count);
  return { findings: sorted, left_out: left_out.size };
}

function note(event: Event, findings: Map<string, Finding>, left_out: Set<string>): void {
  if (event.kind !== 'problem') return;
  const code = CODES.find((known) => known === event.data.code);
  if (code === undefined) return;
  const what = fromByteText(event.data.detail);
  const key = `${code} ${what}`;
  const known = findings.get(key);
  if (known !== undefined) known.count += 1;
  else if (findings.size < LIMITS.drift_findings_max) {
    const { line = null, file = null } = event.raw ?? {};
    findings.set(key, { code, what, count: 1, line, file });
  } else if (left_out.size < LIMITS.drift_findings_max) left_out.add(key);
}

/** The newest session file that the agent keeps. */
export async function lastSession(
  { title, session }: ConvertOptions['agent'],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  let newest: { path: string; modified_ms: number } | null = null;
  for await (const file of session?.list?.({ env }) ?? []) {
    if (newest === null || file.modified_ms > newest.modified_ms) newest = file;
  }
  if (newest !== null) return newest.path;
  throw new TachoError('not_found', `there is no session of ${title} where it would keep it`, {
    stage: 'drift',
  });
}
