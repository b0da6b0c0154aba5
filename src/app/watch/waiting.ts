/**
 * The sessions that wait to be imported. Contract: those that changed while the watcher ran go before those of the first
 * scan, which may take minutes. Sessions that may be forks of each other stay in their order.
 */
import type { ImportTarget } from '../sessions/imported.ts';

export class Waiting {
  /** By path. */
  readonly changed = new Map<string, ImportTarget>();
  /** Sessions that the first scan found, by path, in their order. */
  readonly old = new Map<string, ImportTarget>();
  readonly #families = new Map<string, readonly ImportTarget[]>();

  get size(): number {
    return this.changed.size + this.old.size;
  }

  /** Sessions of the first scan, that affect each other. */
  addOld(family: readonly ImportTarget[]): void {
    for (const target of family) {
      this.old.set(target.path, target);
      if (family.length > 1) this.#families.set(target.path, family);
    }
  }

  /** It takes those of its family that wait with it: a fork comes after what it was made from. */
  add(target: ImportTarget): void {
    const { path } = target;
    for (const one of this.#families.get(path) ?? [])
      if (this.old.delete(one.path)) this.changed.set(one.path, one.path === path ? target : one);
    this.old.delete(path);
    this.changed.set(path, target);
  }

  /** The sessions of a queue as they are now. A session that is queued again meanwhile has another turn. */
  *take(queue: Map<string, ImportTarget>): Generator<ImportTarget, void> {
    for (const { path } of [...queue.values()]) {
      const target = queue.get(path);
      if (target !== undefined && queue.delete(path)) yield target;
    }
  }

  /** All sessions of the first scan were imported. */
  forgetFamilies(): void {
    this.#families.clear();
  }
}
