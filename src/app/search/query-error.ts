/** A mistake in a query, with its position. */
import { TachoError } from '../../lib/errors.ts';

/** A query that cannot be understood. `offset` and `length` name the mistake in characters of the query. */
export class QueryError extends TachoError {
  /** The query as given. */
  readonly query: string;
  /** Position of the mistake in the query, counted from 0. */
  readonly offset: number;
  /** Length of the mistake. */
  readonly length: number;

  constructor(message: string, query: string, place: { offset: number; length: number }) {
    super('usage', `search: ${message} (at character ${place.offset + 1})`, { stage: 'search' });
    this.query = query;
    this.offset = place.offset;
    this.length = Math.max(1, place.length);
  }
}
