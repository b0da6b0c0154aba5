/** Handlers by kind of draft. A draft without a handler becomes the event of its kind unchanged. */
import type { Usage } from '../model/parts.ts';
import { CALL_HANDLERS, type Handlers } from './calls.ts';
import { problem } from './decode.ts';
import { startStep } from './session-facts.ts';

export const HANDLERS: Handlers = {
  ...CALL_HANDLERS,
  step_started(context, { data }) {
    startStep(context, data);
  },
  usage_reported({ emit }, { data }) {
    const { usage, cost_usd } = data;
    const refused = FIGURES.filter((name) => !isPossible(usage[name]));
    if (refused.length === 0 && isPossible(cost_usd)) {
      emit('usage_reported', data);
      return;
    }
    const figures = refused.map((name) => usage[name]);
    if (!isPossible(cost_usd)) figures.push(cost_usd);
    const detail = `figures below 0, recorded as unknown: ${figures.join(', ')}`;
    emit('problem', problem('correlate', 'figure_invalid', detail).data);
    const unknown = Object.fromEntries(refused.map((name) => [name, null]));
    emit('usage_reported', {
      ...data,
      usage: { ...usage, ...unknown },
      cost_usd: isPossible(cost_usd) ? cost_usd : null,
    });
  },
  step_blocked({ state, normaliser, emit }, { data }) {
    const tool = normaliser.toolName(data.tool);
    emit('step_blocked', { reason: data.reason, tool, step_id: data.step_id ?? state.step_id });
  },
  permission_asked({ normaliser, emit }, { data }) {
    emit('permission_asked', { ...data, tool: normaliser.toolName(data.tool) });
  },
  permission_answered({ normaliser, emit }, { data }) {
    emit('permission_answered', { ...data, tool: normaliser.toolName(data.tool) });
  },
};

const FIGURES = [
  'input',
  'output',
  'cache_read',
  'cache_write',
  'reasoning',
] as const satisfies (keyof Usage)[];

/** Checks sums and differences of figures that were each possible. */
function isPossible(figure: unknown): boolean {
  return figure === null || (Number.isFinite(figure) && (figure as number) >= 0);
}
