/** HTML entities that programs use for escaping: punctuation, and the Latin-1 letters in order. */
const PUNCTUATION =
  'amp& lt< gt> quot" apos\' sol/ bsol\\ plus+ equals= colon: semi; comma, period. excl! quest? num# dollar$ percnt% ast* lpar( rpar) lsqb[ rsqb] lbrack[ rbrack] lcub{ rcub} lbrace{ rbrace} verbar| vert| grave` lowbar_ commat@ Hat^ tilde~ hyphen- Tab\t NewLine\n';
const LATIN1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';
export const ENTITIES = new Map([
  ...PUNCTUATION.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const),
  ...LATIN1.split(' ').map((name, at) => [name, String.fromCharCode(0xa0 + at)] as const),
]);
