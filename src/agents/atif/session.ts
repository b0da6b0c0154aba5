/**
 * Trajectories: one JSON document per run, on one line or formatted. There is no common place for them, so that only
 * named files are imported.
 */
import type { SessionFiles } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { type DocumentForm, DocumentLines, piecesOf } from '../kit/document.ts';
import { isNative, type Open, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { type Pieces, Trajectory } from './trajectory.ts';

const FORM: DocumentForm = {
  first: new Set(words('schema_version session_id trajectory_id agent steps')),
  pieces: new Map([
    ['agent', 'agent'],
    ['steps/*', 'step'],
    ['final_metrics', 'final_metrics'],
    ['extra', 'extra'],
    ['subagent_trajectories/*', 'sub'],
  ]),
  fields: new Set(words('schema_version session_id notes continued_trajectory_ref')),
};

const KINDS: ReadonlySet<string> = new Set(['field', ...FORM.pieces.values()]);

/** A piece has one key, which is its kind. Other records have a type. */
function kindOf(record: Open): string | null {
  const [kind = ''] = Object.keys(record).filter((key) => KINDS.has(key));
  return KINDS.has(kind) ? kind : textOf(record.type);
}

const isDocument = (value: unknown): value is Open =>
  isNative(value) && Array.isArray(value.steps) && 'schema_version' in value;

export const session: SessionFiles = {
  where: 'named files only',
  rewritten: true,
  find: async () => null,
  parts: async (path) => [{ path, parent_call_id: null }],
  timeOf: () => null,
  decoder: () =>
    decoder<Pieces>((to) => {
      const document = new DocumentLines(to, FORM);
      const run = new Trajectory(to);
      return {
        inside: (value) => (isDocument(value) ? piecesOf(value, FORM) : document.value(value)),
        text: (line) => document.line(line),
        timeOf: () => undefined,
        kindOf,
        records: {
          field: ({ field }) => run.field(field),
          agent: ({ agent }) => run.agent(agent),
          step: ({ step }) => run.step(step),
          sub: ({ sub }) => run.sub(sub),
          final_metrics: ({ final_metrics }) => run.metrics(final_metrics),
          extra: ({ extra }) => run.extra(extra),
        },
        end() {
          document.end();
          run.end();
        },
      };
    }),
};
