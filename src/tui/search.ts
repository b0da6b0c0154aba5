/** A search that is typed key by key. */
import { TUI_LIMITS } from './limits.ts';

export interface Search {
  text: string;
  /** Whether keys are part of the text. */
  typing: boolean;
  /** Whether nothing was found. */
  missed: boolean;
}

/** Handles a key. `done`: Enter ended the search; `given up`: Escape did, and the text is empty. */
export function typeSearch(search: Search, key: string): 'typed' | 'done' | 'given up' {
  if (key === '<enter>') {
    search.typing = false;
    return 'done';
  }
  const empty = key === '<backspace>' && search.text === '';
  if (key === '<escape>' || key === '<ctrl_c>' || empty) {
    search.typing = false;
    search.missed = false;
    search.text = '';
    return 'given up';
  }
  if (key === '<ctrl_u>') search.text = '';
  else if (key === '<backspace>') search.text = [...search.text].slice(0, -1).join('');
  else if (!isName(key) && search.text.length < TUI_LIMITS.search_chars_max) search.text += key;
  return 'typed';
}

const isName = (key: string) => key.length > 1 && key.startsWith('<');

/** The next matching index, wrapping at the end; `from` itself counts unless it is skipped. Null for none. */
export function around(
  count: number,
  from: number,
  by: 1 | -1,
  { skip, has }: { skip: boolean; has: (at: number) => boolean },
): number | null {
  for (let step = skip ? 1 : 0; step < count + (skip ? 1 : 0); step++) {
    const at = (((from + by * step) % count) + count) % count;
    if (has(at)) return at;
  }
  return null;
}
