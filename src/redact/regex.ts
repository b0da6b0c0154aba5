/**
 * Compiles regular expressions for a machine that never backtracks: a subset of JavaScript's syntax with the same meaning.
 * Contract: unsupported syntax is refused, so no pattern matches differently from JavaScript.
 */
import { type Node, NotUnderstood, readRegex } from './regex-reader.ts';

type Op = 'set' | 'split' | 'jump' | 'assert' | 'match';

/** `to`: the target of `jump`, and the first one of `split`; `or`: the second target of `split`. */
export interface Step {
  op: Op;
  set?: Uint8Array;
  to?: number;
  or?: number;
  assert?: string;
}

/** Maximum steps of a program: a count of 500 is longer than any secret in a known format. */
const STEPS_MAX = 512;

export function compileRegex(source: string): Step[] {
  const steps: Step[] = [];
  emit(readRegex(source), steps);
  steps.push({ op: 'match' });
  return steps;
}

function emit(node: Node, steps: Step[]): void {
  if (steps.length > STEPS_MAX)
    throw new NotUnderstood(`is too large: its counts come to more than ${STEPS_MAX} steps`);
  switch (node.is) {
    case 'set':
      steps.push({ op: 'set', set: node.set });
      return;
    case 'assert':
      steps.push({ op: 'assert', assert: node.assert });
      return;
    case 'all':
      for (const each of node.nodes) emit(each, steps);
      return;
    case 'any':
      emitAny(node.nodes, steps);
      return;
    case 'repeat':
      emitRepeat(node, steps);
  }
}

function emitAny(nodes: readonly Node[], steps: Step[]): void {
  const ends: Step[] = [];
  for (const [at, node] of nodes.entries()) {
    const last = at === nodes.length - 1;
    const split: Step = { op: 'split', to: steps.length + 1 };
    if (!last) steps.push(split);
    emit(node, steps);
    if (last) break;
    const end: Step = { op: 'jump' };
    steps.push(end);
    ends.push(end);
    split.or = steps.length;
  }
  for (const end of ends) end.to = steps.length;
}

function emitRepeat(
  { node, min, max, lazy }: Extract<Node, { is: 'repeat' }>,
  steps: Step[],
): void {
  for (let i = 0; i < min; i++) emit(node, steps);
  if (max === Number.POSITIVE_INFINITY) {
    const split = choice(steps, lazy);
    const from = steps.length - 1;
    emit(node, steps);
    steps.push({ op: 'jump', to: from });
    split(steps.length);
    return;
  }
  const splits: ((behind: number) => void)[] = [];
  for (let i = min; i < max; i++) {
    splits.push(choice(steps, lazy));
    emit(node, steps);
  }
  for (const split of splits) split(steps.length);
}

/** A split between the next step and the end of the block, which is set later. The preferred target is first. */
function choice(steps: Step[], lazy: boolean): (behind: number) => void {
  const step: Step = { op: 'split' };
  const next = steps.push(step);
  return (behind) => {
    step.to = lazy ? behind : next;
    step.or = lazy ? next : behind;
  };
}
