/**
 * Options of a run, completed by tacho.yaml: explicit options take precedence over the target, the target over
 * defaults.
 */
import { AGENT_IDS } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import { defined } from '../../lib/pick.ts';
import { type Config, findConfig, loadConfig, type Target } from '../config/config.ts';
import type { Consenting } from '../config/consent.ts';
import type { RunOptions } from './options.ts';

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

export async function withTarget<O extends Omit<RunOptions, 'prompt'>>(
  asked: O,
  consenting: Consenting,
): Promise<O & { agent: string }> {
  const path = findConfig(process.cwd(), consenting.say);
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  const name = asked.target ?? (asked.agent === undefined ? config?.default_target : undefined);
  const target = name == null ? null : await targetOf(name, config, consenting);
  const agent = asked.agent ?? target?.agent;
  if (agent === undefined)
    throw usage(
      'name the agent to run: --agent ID (tacho agents lists them), or --target NAME from tacho.yaml',
    );
  for (const text of target?.warnings ?? []) consenting.say(`warning: ${text}`);
  return {
    ...fromTarget(target),
    ...(defined(asked) as O),
    agent,
    target: name ?? undefined,
    args: [...(target?.args ?? []), ...(asked.args ?? [])],
    env: { ...target?.env, ...asked.env },
    redact: [...(config?.redact ?? []), ...(asked.redact ?? [])],
  };
}

function fromTarget(target: Target | null): Partial<RunOptions> {
  if (target === null) return {};
  const { command, model, cwd, approve, timeout, stream_log: streamLog, retries } = target;
  const { best_effort_limits: bestEffortLimits, fail_on: failOn } = target;
  const timeoutMs = timeout === undefined ? undefined : Math.round(timeout * 1000);
  const { cost_usd: maxCostUsd, tokens: maxTokens, steps: maxSteps } = target.limits;
  const { tool_calls: maxToolCalls, same_calls: loopGuard } = target.limits;
  return {
    ...{ maxCostUsd, maxTokens, maxToolCalls, maxSteps, loopGuard, bestEffortLimits, failOn },
    ...{ command, model, cwd, approve, timeoutMs, streamLog, retries },
  };
}

/** A target chooses a program and its permissions: the user must agree to its file. */
async function targetOf(name: string, config: Config | null, consenting: Consenting) {
  if (config === null)
    throw usage(`unknown target "${name}": there is no tacho.yaml here or above`);
  const { targets, path } = config;
  const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
  if (target === undefined)
    throw usage(
      `unknown target "${name}": ${path} has ${Object.keys(targets).join(', ') || 'none'}`,
    );
  const { configAsking, needConsent, targetEffects } = await import('../config/consent.ts');
  needConsent(configAsking(config, [targetEffects(name, target)]), consenting);
  return target;
}
