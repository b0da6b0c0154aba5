/** The warnings of an outcome (RO-6): retries, permission requests and denials, problems with their lines, gaps. */

import { changedText } from '../lib/byte-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { cutUtf8, wellFormed } from '../lib/utf8.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import type { ProblemCode, ProblemStage } from '../model/words.ts';
import { PROJECTION_LIMITS } from './limits.ts';

const UNSEEN = 'there is no git work tree: files that commands changed are not listed';

interface Refused {
  call_id: string | null;
  tool: string | null;
}

interface Warned {
  kept: string[];
  beyond: number;
  /** Open calls with a refusal that is already among the warnings. */
  refused: Set<string>;
  without_git: boolean;
  commands: boolean;
}

const none = (): Warned => ({
  kept: [],
  beyond: 0,
  refused: new Set(),
  without_git: false,
  commands: false,
});

export interface WarningFold {
  fork(): WarningFold;
  push(event: Event): void;
  /** At most `outcome_warnings_max`, then one line that counts the rest. Gaps are last and always included. */
  list(gaps: readonly string[]): string[];
}

/** `byte_text`: whether the events, and so the warnings, contain byte text. `from`: continues with a copy of these. */
export function createWarningFold(byte_text = false, from: Warned = none()): WarningFold {
  const oneWarning = (text: string) => changedText(text, oneLine, byte_text);
  const kept = [...from.kept];
  const refused = new Set(from.refused);
  let { beyond, without_git, commands } = from;
  const add = (text: string): void => {
    if (kept.length < PROJECTION_LIMITS.outcome_warnings_max) kept.push(oneWarning(text));
    else beyond += 1;
  };
  const refuse = ({ call_id, tool }: Refused, why: string | null): void => {
    if (call_id !== null) {
      if (refused.has(call_id)) return;
      if (refused.size < LIMITS.open_calls_max) refused.add(call_id);
    }
    add(`${tool ?? 'a call'} denied${said(': ', why)}`);
  };
  return {
    fork: () => createWarningFold(byte_text, { kept, beyond, refused, without_git, commands }),
    push(event) {
      if (event.kind === 'call_decided' && event.data.decision === 'deny') {
        refuse(event.data, event.data.reason);
      } else if (event.kind === 'permission_answered' && event.data.decision === 'deny') {
        refuse(event.data, event.data.source);
      } else if (event.kind === 'call_finished') {
        if (event.data.status === 'denied') refuse(event.data, null);
        if (refused.size > 0) refused.delete(event.data.call_id);
      } else if (event.kind === 'run_started') {
        without_git = event.data.config?.without_git === true;
      } else if (event.kind === 'call_requested') {
        commands ||= event.data.tool === 'Bash';
      } else {
        const text = warningOf(event);
        if (text !== null) add(text);
      }
    },
    list(gaps) {
      const unseen = without_git && commands ? [UNSEEN] : [];
      const most = PROJECTION_LIMITS.outcome_warnings_max - unseen.length;
      const shown = gaps.slice(0, most);
      const named = [...unseen, ...shown.map((gap) => `gap: ${gap}`)].map(oneWarning);
      const room = PROJECTION_LIMITS.outcome_warnings_max - named.length;
      const more = beyond + Math.max(0, kept.length - room) + (gaps.length - shown.length);
      const list = [...kept.slice(0, room), ...named];
      return more > 0 ? [...list, changedText('', () => `… and ${more} more`, byte_text)] : list;
    },
  };
}

/** The warning in an event; null for none. Foreign text, not escaped yet. */
function warningOf(event: Event): string | null {
  switch (event.kind) {
    case 'provider_retried':
      return providerRetry(event.data);
    case 'provider_failed':
      return `provider error${said(' ', event.data.kind)}${said(', status ', event.data.status)}: ${event.data.message}`;
    case 'call_retried': {
      const { tool, attempt, max_retries, failure_class } = event.data;
      return `${tool} retried: attempt ${attempt}${said(' of ', max_retries)}${said(': ', failure_class)}`;
    }
    case 'permission_asked':
      return `permission asked${said(' for ', event.data.tool)}${said(': ', event.data.reason)}`;
    case 'step_blocked':
      return `blocked${said(' at ', event.data.tool)}: ${event.data.reason}`;
    case 'problem':
      return problemText(event);
    default:
      return null;
  }
}

/** The same for people, who also see the calls and the gaps of the record: these show some problems as well. */
export function shownWarning(event: Event): string | null {
  if (event.kind !== 'problem') return warningOf(event);
  const { stage, code, detail } = event.data;
  if (SHOWN_ELSEWHERE.includes(code)) return null;
  return SENTENCES.includes(stage) && detail !== '' ? detail : warningOf(event);
}

const SHOWN_ELSEWHERE: readonly ProblemCode[] = ['no_end_record', 'unfinished_call'];
/** Stages with details that need no code before them. */
const SENTENCES: readonly ProblemStage[] = ['process', 'store'];

function providerRetry(data: DataOf<'provider_retried'>): string {
  const { attempt, max_attempts, status, backoff_ms } = data;
  const kind = data.kind === 'unknown' ? (data.native_kind ?? null) : data.kind;
  const count = `${said(': attempt ', attempt)}${attempt === null ? '' : said(' of ', max_attempts)}`;
  const wait = backoff_ms === null ? '' : `, waited ${backoff_ms} ms`;
  return `provider retry${count}${said(', ', kind)}${said(', status ', status)}${wait}`;
}

function problemText({ raw, data }: EventOf<'problem'>): string {
  const file = raw?.file === undefined ? '' : ` ${raw.file}`;
  const where = raw === null ? '' : `${raw.channel}${file} line ${raw.line}: `;
  return `${where}${data.code}${data.detail === '' ? '' : `: ${data.detail}`}`;
}

function said(before: string, value: string | number | null): string {
  return value === null || value === '' ? '' : `${before}${value}`;
}

/** One line, bounded. */
function oneLine(text: string): string {
  const line = wellFormed(text)
    .replace(/[\t\n\v\f\r ]+/g, ' ')
    .replace(/^ | $/g, '');
  const cut = cutUtf8(line, PROJECTION_LIMITS.warning_bytes_max);
  return cut.length < line.length ? `${cut}…` : line;
}
