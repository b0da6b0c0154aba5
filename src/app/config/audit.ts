/** `audit:` of `tacho.yaml`, and files of rules for `tacho audit --rules`: further rules, and rules that are switched off. */
import { LIMITS } from '../../lib/limits.ts';
import { Report } from '../../lib/schema/mistakes.ts';
import type { Fields, Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { AUDIT_SEVERITIES } from '../../model/words.ts';
import type { AuditRule } from '../../projections/audit/rule.ts';
import { AUDIT_RULES } from '../../projections/audit/rules.ts';

export interface AuditConfig {
  rules: AuditRule[];
  /** Ids of built-in rules. */
  off: string[];
}

const RULES_MAX = 200;
/** More of these make a pattern slow. */
const STARS_MAX = 8;

const IDS = AUDIT_RULES.map(({ id }) => id);

/** One string or a list of them. */
const texts: Read<string[]> = (value, place) => {
  const list = is.texts(typeof value === 'string' ? [value] : value, place);
  if (list.some((text) => text.split('*').length > STARS_MAX))
    place.mistake(`has a pattern with more than ${STARS_MAX - 1} stars`);
  return list;
};

const newId: Read<string> = (value, place) => {
  const id = is.text(value, place);
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(id))
    place.mistake('must be a name of lower-case letters, digits and "-"');
  else if (IDS.includes(id)) place.mistake('is the name of a built-in rule');
  return id;
};

const knownId: Read<string> = (value, place) => {
  const id = is.text(value, place);
  if (id !== '' && !IDS.includes(id)) place.mistake(is.unknownWord('rule', id, IDS), ': ');
  return id;
};

const RULE = {
  id: is.required(newId),
  severity: is.oneOf(AUDIT_SEVERITIES),
  about: is.text,
  command: texts,
  options: texts,
  args: texts,
  path: texts,
  access: is.oneOf(['read', 'write', 'replace'] as const),
  tool: texts,
} satisfies Fields;

const rule: Read<AuditRule | null> = (value, place) => {
  const found = is.readMap(value, RULE, place);
  if (found === null || found.id === undefined) return null;
  const { id, severity = 'medium', about = id, command, options, args, path, access, tool } = found;
  if (command === undefined && path === undefined && tool === undefined)
    place.mistake('needs one of command, path, tool');
  if (command === undefined && (options ?? args) !== undefined)
    place.mistake('has options or args, but no command');
  if (path === undefined && access !== undefined) place.mistake('has access, but no path');
  return {
    ...{ id, severity, category: 'custom', about, access, paths: path, tools: tool },
    commands: command?.map((text) => ({ command: text.trim().toLowerCase(), options, args })),
  };
};

const rules: Read<(AuditRule | null)[]> = (value, place) => {
  const found = is.listOf(rule, 'must be a list of rules')(value, place);
  if (found.length > RULES_MAX) place.mistake(`has more than ${RULES_MAX} rules`);
  const ids = found.flatMap((one) => (one === null ? [] : [one.id]));
  const twice = ids.find((id, at) => ids.indexOf(id) < at);
  if (twice !== undefined) place.mistake(`has the rule ${twice} twice`);
  return found;
};

const FIELDS = { rules, off: is.listOf(knownId, 'must be a list of rules') } satisfies Fields;

export const auditConfig: Read<AuditConfig> = (value, place) => {
  const { rules: found = [], off = [] } = is.mapOf(FIELDS)(value, place);
  return { rules: found.filter((one) => one !== null), off };
};

/** A file with the content of `audit:`. */
export async function loadRules(path: string): Promise<AuditConfig> {
  const { text } = readTextFile(path, { bytes_max: LIMITS.config_bytes_max, stage: 'config' });
  const { readYaml } = await import('../../lib/schema/yaml.ts');
  const report = new Report('config');
  const yaml = readYaml(path, text);
  const found = auditConfig(yaml.value ?? {}, report.open(yaml));
  report.end();
  return found;
}
