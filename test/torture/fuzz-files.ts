import type { FuzzTarget } from './fuzz-target.ts';
export async function fileTargets(): Promise<FuzzTarget[]> {
  return [];
}
