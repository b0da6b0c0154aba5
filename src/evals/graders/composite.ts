/** `composite`: several assertions as one (EV-8). */
import {
  type Assertion,
  type AssertionResult,
  fact,
  type Grader,
  weightedScore,
} from '../types.ts';

export const AGGREGATORS = ['weighted_average', 'threshold'] as const;

interface Aggregator {
  type: (typeof AGGREGATORS)[number];
  /** By member name; takes precedence over their own weights. */
  weights?: Readonly<Record<string, number>>;
  /** The share of members that must pass. */
  threshold?: number;
}

function shareOf(results: readonly AssertionResult[], { threshold = 1 }: Aggregator): number {
  const passed = results.filter(({ verdict }) => verdict === 'pass').length;
  return passed / results.length >= threshold - 1e-9 ? 1 : 0;
}

function meanOf(results: readonly AssertionResult[], { weights = {} }: Aggregator): number {
  const weightOf = ({ name, weight }: AssertionResult) =>
    Object.hasOwn(weights, name) ? (weights[name] as number) : weight;
  return weightedScore(results.map((one) => ({ score: one.score, weight: weightOf(one) })));
}

export const composite: Grader = async (options, { grade }) => {
  const { members, aggregator = { type: 'weighted_average' } } = options as {
    members: readonly Assertion[];
    aggregator?: Aggregator;
  };
  const results: AssertionResult[] = [];
  for (const member of members) results.push(await grade(member));
  const lost = results.find(({ required, verdict }) => required && verdict === 'fail');
  const score = (aggregator.type === 'threshold' ? shareOf : meanOf)(results, aggregator);
  const failed = results.filter(({ verdict }) => verdict === 'fail');
  return {
    score: lost === undefined ? score : 0,
    reason:
      failed.length === 0
        ? 'every member passes'
        : failed.map(({ name, reason }) => `${name}: ${reason}`).join('; '),
    evidence: results.map(({ name, verdict, reason }) =>
      fact(`${name}: ${reason}`, verdict === 'pass'),
    ),
    assertions: results,
  };
};
