/** The rules of an audit: the built-in ones, a file that the user names, and `tacho.yaml` of the current project. */
import { dirname } from 'node:path';
import { AGENT_IDS } from '../../agents/registry.ts';
import { projectOf } from '../../capture/source/project.ts';
import { TachoError } from '../../lib/errors.ts';
import { pathInside } from '../../lib/paths.ts';
import type { AuditSummary } from '../../model/audit.ts';
import type { AuditRule } from '../../projections/audit/rule.ts';
import { createRuleSet, type RuleSet } from '../../projections/audit/rule-set.ts';
import { AUDIT_RULES } from '../../projections/audit/rules.ts';
import { type AuditConfig, loadRules } from '../config/audit.ts';
import { findConfig, loadConfig } from '../config/config.ts';
import { auditEffects, type Consenting, configAsking, needConsent } from '../config/consent.ts';

type Changed = AuditSummary['changed_rules'][number];

export interface RuleSources {
  /** The rules for runs of a project. */
  of(project: string | null): RuleSet;
  changed: Changed[];
  /** Those for runs of the current project. */
  all: readonly AuditRule[];
}

const withChanges = (rules: readonly AuditRule[], { off, rules: added }: AuditConfig) => [
  ...rules.filter(({ id }) => !off.includes(id)),
  ...added,
];

/**
 * `file`: named by the user, so it applies to all runs. A `tacho.yaml` comes with a repository: it applies only to runs
 * of its project, and without consent it switches nothing off.
 */
export async function ruleSources(
  file: string | undefined,
  consenting: Consenting,
): Promise<RuleSources> {
  const changed: Changed[] = [];
  let rules: readonly AuditRule[] = AUDIT_RULES;
  if (file !== undefined) {
    const given = await loadRules(file);
    rules = withChanges(rules, given);
    changed.push(changeOf(file, null, given, []));
  }
  const general = createRuleSet(rules);
  const path = findConfig(process.cwd(), consenting.say);
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  if (config === null || config.audit === null) return { of: () => general, changed, all: rules };
  const agreed = agreesTo(() =>
    needConsent(configAsking(config, auditEffects(config)), consenting),
  );
  const refused = agreed ? [] : config.audit.off;
  const given = { ...config.audit, off: agreed ? config.audit.off : [] };
  const project = projectOf(dirname(config.path)).path;
  changed.push(changeOf(config.path, project, given, refused));
  const all = withChanges(rules, given);
  const own = createRuleSet(all);
  const isOwn = (path: string) => pathInside(path, [project]) !== null;
  return { of: (path) => (path !== null && isOwn(path) ? own : general), changed, all };
}

function changeOf(
  path: string,
  project: string | null,
  { rules, off }: AuditConfig,
  refused: string[],
): Changed {
  return { path, project, added: rules.map(({ id }) => id), off, refused };
}

/** Without consent, the audit continues with all of its rules. */
function agreesTo(ask: () => void): boolean {
  try {
    ask();
    return true;
  } catch (error) {
    if (error instanceof TachoError && error.code === 'untrusted') return false;
    throw error;
  }
}
