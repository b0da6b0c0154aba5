/**
 * Identifies the run of an imported session: by its id, which is derived from a digest in its labels: of the
 * session's own id, and in earlier versions of its content. Labels that a user set by hand do not make a run an import.
 */
import { newRunId, seededRandom } from '../../lib/ids.ts';
import { defined, pick } from '../../lib/pick.ts';
import { IMPORTED_SHA256_LABEL } from '../../model/words.ts';

/** How often a deleted import was explicitly requested again. */
const AGAIN_LABEL = 'imported_again';

export interface NewId {
  run_id: string;
  labels: Record<string, string>;
}

interface Known {
  run_id: string;
  agent: string;
  labels: Readonly<Record<string, string>> | undefined;
}

function idOf(agent: string, sha256: string, again: number, started_ms: number): string {
  return newRunId(started_ms, seededRandom(`import:${agent}:${sha256}:${again}`));
}

/** The random part of a run id, after its time. */
const randomPart = (run_id: string) => run_id.slice(-16);

/** The id of an import of the session with this digest, and the labels that it is derived from. */
export function importId(
  { agent, sha256 }: { agent: string; sha256: string },
  again: number,
  started_ms: number,
): NewId {
  const repeated = again === 0 ? {} : { [AGAIN_LABEL]: String(again) };
  return {
    run_id: idOf(agent, sha256, again, started_ms),
    labels: { [IMPORTED_SHA256_LABEL]: sha256, ...repeated },
  };
}

/** Those labels of an import that its id is derived from. */
export function importLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return defined(pick(labels, IMPORTED_SHA256_LABEL, AGAIN_LABEL)) as Record<string, string>;
}

/** The digest that the id of an import is derived from. Null if the run is not an import. */
export function importedDigest({ run_id, agent, labels }: Known): string | null {
  const sha256 = labels?.[IMPORTED_SHA256_LABEL];
  if (sha256 === undefined) return null;
  const id = idOf(agent, sha256, Number(labels?.[AGAIN_LABEL] ?? 0), 0);
  return randomPart(id) === randomPart(run_id) ? sha256 : null;
}
