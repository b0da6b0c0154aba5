/**
 * The redactor of every command: the secrets of an environment, known shapes, and patterns of `tacho.yaml` and of
 * flags. Contract: everything that stores, prints or sends a conversation gets its redactor here, so that all find
 * the same secrets.
 */
import { existsSync } from 'node:fs';
import { AGENT_IDS } from '../../agents/registry.ts';
import type { Agent } from '../../model/agent.ts';
import { type AnyRedactor, createRedactor } from '../../redact/gate.ts';
import { openSecretHash, randomSecretHash, type SecretHash } from '../../store/journal/hash.ts';
import { resolveStateDir, stateDirAt } from '../../store/state-dir.ts';
import { keyPath } from '../../store/state-mark.ts';
import { findConfig } from './find-config.ts';

interface RedactionOptions {
  /** The environment that the conversation may show. */
  env: Readonly<Record<string, string | undefined>>;
  /** Patterns in addition to the known shapes. */
  redact: readonly string[];
  /** Agents with variables that contain secrets. */
  agents?: readonly Pick<Agent, 'secret_env'>[];
  hash: SecretHash;
  /** Whether it is given byte text (lib/byte-text). */
  byte_text?: boolean;
}

export function openRedactor({ agents = [], redact, ...options }: RedactionOptions): AnyRedactor {
  const secret_env = agents.flatMap((agent) => [...agent.secret_env]);
  return createRedactor({ ...options, secret_env, patterns: redact });
}

/**
 * For commands that print or send and store nothing: uses the key of the state folder if it has one. Otherwise a
 * random key for this command, because guesses could be tried against a hash without a key.
 */
export function passingHash(flag: string | undefined, env: NodeJS.ProcessEnv): SecretHash {
  const path = resolveStateDir({ flag, env });
  if (!existsSync(keyPath(path))) return randomSecretHash();
  return openSecretHash(stateDirAt(path));
}

interface Passing extends Pick<RedactionOptions, 'agents'> {
  state_dir?: string | undefined;
  /** Patterns in addition to those of `tacho.yaml`. */
  redact?: readonly string[] | undefined;
}

/** The redactor of such a command, with the settings of the folder that it works in. */
export async function passingRedactor(
  env: NodeJS.ProcessEnv,
  { state_dir, redact, agents = [] }: Passing = {},
): Promise<AnyRedactor> {
  const patterns = await patternsIn(process.cwd(), redact);
  return openRedactor({ env, redact: patterns, agents, hash: passingHash(state_dir, env) });
}

/**
 * Redacts a message about a failure, which may name files and quote foreign texts. Unreadable settings must not hide
 * it. A request for consent contains no secrets, and the patterns of the file that asks must not hide a part of it.
 */
export async function redactedMessage(
  { message, code }: { message: string; code?: string },
  env: NodeJS.ProcessEnv,
): Promise<string> {
  if (code === 'untrusted') return message;
  const fallback = () => openRedactor({ env, redact: [], hash: randomSecretHash() });
  return (await passingRedactor(env).catch(fallback)).text(message);
}

/** The patterns that apply in a folder: those of its `tacho.yaml`, then the given ones. */
export async function patternsIn(cwd: string, given: readonly string[] = []): Promise<string[]> {
  const path = findConfig(cwd);
  if (path === null) return [...given];
  const { loadConfig } = await import('./config.ts');
  const { redact } = await loadConfig(path, AGENT_IDS);
  return [...redact, ...given];
}
