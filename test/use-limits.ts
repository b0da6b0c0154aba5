import { onTestFinished } from 'vitest';

/** Replaces limits until the end of the test. */
export function useLimits<T extends object>(
  limits: T,
  others: Partial<Record<keyof T, number>>,
): void {
  const before = { ...limits };
  Object.assign(limits, others);
  onTestFinished(() => void Object.assign(limits, before));
}
