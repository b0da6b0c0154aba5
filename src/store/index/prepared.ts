/** Statements and transactions of one connection. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { RunOutcome } from '../../model/outcome.ts';

/** Statements by their text, prepared once. */
export interface Prepared {
  all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[];
  get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined;
  /** Row by row, for results that may be as long as the list of runs. */
  iterate(sql: string, ...values: SQLInputValue[]): Iterable<Record<string, unknown>>;
  run(sql: string, ...values: SQLInputValue[]): number;
}

export function prepare(db: DatabaseSync): Prepared {
  const statements = new Map<string, StatementSync>();
  function statement(sql: string): StatementSync {
    let found = statements.get(sql);
    if (found === undefined) {
      found = db.prepare(sql);
      statements.set(sql, found);
    }
    return found;
  }
  return {
    all: (sql, ...values) => statement(sql).all(...values),
    get: (sql, ...values) => statement(sql).get(...values),
    // A separate statement: two readers of one would take rows from each other.
    iterate: (sql, ...values) => db.prepare(sql).iterate(...values),
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
  };
}

/** The stored outcome of a run. */
export function outcomeOf(prepared: Prepared, run_id: string): RunOutcome | null {
  const row = prepared.get('SELECT outcome FROM runs WHERE run_id = ?', run_id);
  return row === undefined ? null : (JSON.parse(String(row.outcome)) as RunOutcome);
}

/**
 * Figures come from agents, and from journals that others may have edited: values that SQLite cannot store become
 * unknown.
 */
export function integer(value: number | null): number | null {
  return Number.isSafeInteger(value) ? value : null;
}

/** IMMEDIATE: a transaction that reads first and writes later fails if another process wrote in between. */
export function inTransaction<T>(prepared: Prepared, body: (db: Prepared) => T): T {
  prepared.run('BEGIN IMMEDIATE');
  try {
    const result = body(prepared);
    prepared.run('COMMIT');
    return result;
  } catch (error) {
    try {
      prepared.run('ROLLBACK');
    } catch {
      // SQLite has already rolled back; the first failure is the one to report.
    }
    throw error;
  }
}
