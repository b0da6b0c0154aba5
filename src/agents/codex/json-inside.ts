/** JSON inside a text: arguments of calls, and answers of earlier versions. */
import { fromByteText, toByteText } from '../../lib/byte-text.ts';
import { jsonOf } from './native.ts';

/** Reads JSON inside a text of the kind that the decoder is given. */
export type JsonReader = (text: string) => unknown;

/** Undefined when it is none. In byte text an escape would stand for a character and not for its bytes. */
export function jsonInside(text: string, byte_text: boolean): unknown {
  if (!byte_text || !text.includes('\\u')) return jsonOf(text);
  return toByteText(jsonOf(fromByteText(text)));
}
