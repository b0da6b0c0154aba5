/** The restrictions in the user's own settings (WA-12). They apply however a session is imported. */
import { AGENT_IDS } from '../../agents/registry.ts';
import { loadUserConfig, type UserConfig } from '../config/user-config.ts';
import type { Privacy } from '../sessions/imported.ts';
import { isIncluded } from './watch-config.ts';

export const privacyOf = (
  { watch }: Pick<UserConfig, 'watch'>,
  metadata_only = false,
): Privacy => ({
  includes: (session) => isIncluded(session, watch),
  metadata_only: metadata_only || watch.metadata_only,
});

/** For imports: the restrictions, and further patterns of secrets. */
export async function userPrivacy(
  env: NodeJS.ProcessEnv,
): Promise<{ privacy: Privacy; redact: readonly string[] }> {
  const user = await loadUserConfig(env, AGENT_IDS);
  return { privacy: privacyOf(user), redact: user.redact };
}
