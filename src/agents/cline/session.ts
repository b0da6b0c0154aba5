/**
 * Session files: `~/.cline/data/sessions/<session>/<session>.messages.json`, one JSON document, rewritten after each
 * message. Sub-agents have `<agent>.messages.json` in the same folder.
 */
import { basename, dirname, join } from 'node:path';
import { decoder } from '../kit/decoder.ts';
import { type DocumentForm, DocumentLines, piecesOf } from '../kit/document.ts';
import { isNative, momentOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { homeOf, metaIn, pathsIn, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import { type Pieces, SessionRun } from './session-run.ts';

const ID = /^([0-9]{6,16}_[0-9a-z]{1,16})$/;
const MAIN = /^([0-9]{6,16}_[0-9a-z]{1,16})\.messages\.json$/;
const SUB_AGENT = /^agent_.*\.messages\.json$/;

const FORM: DocumentForm = {
  first: new Set(words('version updated_at agent sessionId origin messages')),
  pieces: new Map([
    ['origin', 'origin'],
    ['messages/*', 'message'],
  ]),
  fields: new Set(['sessionId']),
};

const KINDS: ReadonlySet<string> = new Set(['field', ...FORM.pieces.values()]);

/** A piece has one key, which is its kind. Other records have a type. */
function kindOf(record: Open): string | null {
  const kind = Object.keys(record).find((key) => KINDS.has(key));
  return kind ?? textOf(record.type);
}

const isDocument = (value: unknown): value is Open =>
  isNative(value) && Array.isArray(value.messages) && 'sessionId' in value;

const timeOf = (record: Open) => momentOf(nativeOf(record.message)?.ts);

export const session = sessionFiles({
  where: '~/.cline/data/sessions, or $CLINE_SESSION_DATA_DIR or $CLINE_DATA_DIR/sessions',
  rewritten: true,
  root(env) {
    const data = env.CLINE_DATA_DIR || join(env.CLINE_DIR || join(homeOf(env), '.cline'), 'data');
    return env.CLINE_SESSION_DATA_DIR || join(data, 'sessions');
  },
  id: ID,
  names: [[/./, MAIN]],
  // Facts about the session.
  beside: /^[0-9]{6,16}_[0-9a-z]{1,16}\.json$/,
  likely: (id) => [join(id, `${id}.messages.json`)],
  async subAgents(path, unreadable) {
    const files = pathsIn(dirname(path), [SUB_AGENT], unreadable);
    return Array.fromAsync(files, (file) => ({ path: file.path, parent_call_id: null }));
  },
  timeOf,
  decoder: ({ since_ms, path } = {}) =>
    decoder<Pieces>((to) => {
      const document = new DocumentLines(to, FORM);
      const meta = path === undefined ? null : metaIn(path.replace('.messages.json', '.json'));
      const run = new SessionRun(to, textOf(meta?.cwd));
      return {
        since_ms,
        kindOf,
        timeOf,
        inside: (value) => (isDocument(value) ? piecesOf(value, FORM) : document.value(value)),
        text: (line) => document.line(line),
        before(_record, part) {
          const sub = part !== undefined && SUB_AGENT.test(basename(part.path));
          run.speak(sub ? part.path : null);
        },
        records: {
          field: ({ field }) => run.field(field),
          origin: ({ origin }) => run.origin(origin),
          message: ({ message }) => run.message(message),
        },
        end() {
          document.end();
          run.end();
        },
      };
    }),
});
