/**
 * Transcripts: `~/.gemini/antigravity-cli/brain/<conversation>/.system_generated/logs/transcript.jsonl`, one step per
 * line; the editors use the same layout in `antigravity` and `antigravity-ide`. The conversation itself, in
 * `conversations/`, is encrypted or in an undocumented format: one without a transcript cannot be read, and importing it
 * reports that.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import type { SessionFiles } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { momentOf, type Open, textOf } from '../kit/native.ts';
import { homeOf, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import { SessionRun } from './session-run.ts';

const ID = /^([0-9a-zA-Z][0-9a-zA-Z-]{0,63})$/;
const CONVERSATION = /^([0-9a-zA-Z][0-9a-zA-Z-]{0,63})\.(?:db|pb)$/;
const STORE = /^antigravity(?:-cli|-ide)?$/;
const LOGS = ['.system_generated', 'logs', 'transcript.jsonl'];
const TRANSCRIPT = [/^\.system_generated$/, /^logs$/, /^transcript\.jsonl$/];

const timeOf = ({ created_at }: Open) => momentOf(created_at);

/** The conversation's id is the name of the folder three levels above the transcript. */
function conversationOf(path: string | undefined): string | null {
  const folder = path === undefined ? '' : basename(dirname(dirname(dirname(path))));
  return ID.exec(folder)?.[1] ?? null;
}

const files = sessionFiles({
  where: '~/.gemini/antigravity-cli/brain, also in ~/.gemini/antigravity and antigravity-ide',
  root: (env) => join(homeOf(env), '.gemini'),
  id: ID,
  names: [
    [STORE, /^brain$/, ID, ...TRANSCRIPT],
    [STORE, /^conversations$/, CONVERSATION],
  ],
  // A conversation with a transcript is read from there.
  async isMain(path) {
    const [, id] = CONVERSATION.exec(basename(path)) ?? [];
    return id === undefined || !existsSync(join(dirname(dirname(path)), 'brain', id, ...LOGS));
  },
  timeOf,
  decoder: ({ since_ms, path } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to, conversationOf(path));
      return {
        since_ms,
        timeOf,
        kindOf: ({ source, type }) => textOf(type) ?? textOf(source),
        records: {
          USER_INPUT: (record) => run.user(record),
          PLANNER_RESPONSE: (record) => run.planner(record),
        },
        ignored: words('CONVERSATION_HISTORY EPHEMERAL_MESSAGE KNOWLEDGE_ARTIFACTS'),
        // Results of tools have no reference to their call; checkpoints begin a compacted context.
        notices: words(`
          CHECKPOINT CODE_ACTION FIND GREP_SEARCH LIST_DIRECTORY NOTIFY_USER RUN_COMMAND SYSTEM_MESSAGE VIEW_FILE
        `),
        noticeText: ({ content }) => textOf(content),
        end: () => run.end(),
      };
    }),
});

export const session: SessionFiles = {
  ...files,
  read(path: string): null {
    if (!CONVERSATION.test(basename(path))) return null;
    const text = `${path}: this conversation has no transcript, and Antigravity's own file of it is encrypted or in an undocumented format`;
    throw new TachoError('input_unreadable', text, { stage: 'read' });
  },
};
