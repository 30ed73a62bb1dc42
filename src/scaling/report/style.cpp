#include "style.h"

#include <fmt/format.h>

#include "skein/scaling/report/gnuplot.h"

namespace skein {
namespace {

constexpr const char* kLight =
    "--ground:#f7f8fa;--card:#ffffff;--line:#e4e7ec;--text:#1d2430;--faint:#5b6576;--link:#0b6fb8;-"
    "-mark:#eef4fb;";
constexpr const char* kDark =
    "--ground:#10141c;--card:#171d28;--line:#2b3342;--text:#e6e9ef;--faint:#98a2b3;--link:#6cb8f0;-"
    "-mark:#1d2a3a;";

constexpr const char* kRules = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
section#conclusions h2{margin-top:8px}
sup{line-height:0;font-size:.75em}
main,header,footer{max-width:1020px;margin:0 auto;padding:0 20px}
header{padding-top:36px;position:relative}
h1{font-size:clamp(1.6rem,4.6vw,2.2rem);line-height:1.15;letter-spacing:-.02em;margin:0 56px 6px 0;font-weight:680}
h2{font-size:1.3rem;letter-spacing:-.01em;margin:56px 0 14px;font-weight:650}
h3{font-size:1.05rem;margin:0 0 6px;font-weight:620}
a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:3px}
.source{color:var(--faint);margin:0 56px 18px 0;font-size:.94rem}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.94rem;margin-bottom:26px}
#theme{position:absolute;top:34px;right:20px;width:44px;height:44px;border-radius:50%;border:1px solid var(--line);background:var(--card);color:var(--text);cursor:pointer;font-size:1.1rem;line-height:1}
#theme:hover{border-color:var(--faint)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(205px,1fr));gap:12px;margin:0 0 20px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px}
.tile b{display:block;font-size:1.75rem;line-height:1.25;font-weight:640;letter-spacing:-.02em}
.tile span{color:var(--faint);font-size:.88rem;display:block}
.conclusions{margin:0;padding:4px 22px 4px 40px;background:var(--card);border:1px solid var(--line);border-radius:12px}
.conclusions li{margin:12px 0}
.conclusions li::marker{color:var(--faint)}
.caveats{border-left:3px solid var(--ink-alert);padding:2px 0 2px 18px;margin:22px 0 0}
.caveats h3{margin-top:4px}
.caveats ul{margin:0;padding-left:18px}
.caveats li{margin:6px 0}
.caveats summary{padding:2px 0}
figure,.table,.left-out{margin:0 0 22px;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:20px 22px}
.plot svg{display:block;width:100%;height:auto;color:var(--text);font-family:inherit}
.plot.narrow{display:none}
figcaption{color:var(--text);font-size:.95rem;max-width:88ch;margin-top:10px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0 0;padding:0;font-size:.86rem;color:var(--faint)}
.legend li{display:flex;align-items:center;gap:7px}
.legend svg{width:22px;height:12px;flex:none}
.files{margin:10px 0 0;font-size:.86rem;display:flex;gap:16px;flex-wrap:wrap;color:var(--faint)}
.note{color:var(--faint);font-size:.9rem;margin:0 0 10px;max-width:80ch}
.scroll{overflow-x:auto;max-height:75vh;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;width:100%;font-size:.88rem}
th,td{padding:8px 14px 8px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
td,tbody th{white-space:nowrap}
td:not(.n),tbody th:not(.n){white-space:normal;min-width:9ch}
thead th{color:var(--faint);position:sticky;top:0;background:var(--card);vertical-align:bottom;font-size:.82rem}
.n{text-align:right}
.i{display:block;color:var(--faint);font-size:.8rem}
tbody th{font-weight:560}
tbody tr:last-child>*{border-bottom:0}
tbody tr:hover>*{background:var(--mark)}
#table-runs thead th{cursor:pointer}
thead th[aria-sort=ascending]::after{content:" ↑"}
thead th[aria-sort=descending]::after{content:" ↓"}
summary{cursor:pointer;color:var(--link);padding:8px 0}
.left-out ul{margin:0;padding-left:18px}
footer{color:var(--faint);font-size:.88rem;padding-top:10px;padding-bottom:48px}
@media (max-width:640px){
main,header,footer{padding-left:14px;padding-right:14px}
#theme{right:14px;top:24px}
header{padding-top:26px}
figure,.table,.left-out{padding:16px 14px;border-radius:10px}
.conclusions{padding:2px 14px 2px 32px}
.tiles{grid-template-columns:1fr 1fr}
.tile{padding:12px 14px}
.tile b{font-size:1.35rem}
.tile span{font-size:.8rem}
nav a{padding:6px 0}
.files a{padding:6px 0}
.plot.wide{display:none}
.plot.narrow{display:block}
}
@media print{#theme,nav{display:none}figure,.table{break-inside:avoid}}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
)";

constexpr const char* kBehaviour = R"(
(function(){
var root=document.documentElement,button=document.getElementById('theme');
function dark(){var t=root.getAttribute('data-theme');return t?t==='dark':matchMedia('(prefers-color-scheme: dark)').matches}
function label(){button.textContent=dark()?'☀':'☾';button.setAttribute('aria-label',dark()?'Light colours':'Dark colours')}
button.addEventListener('click',function(){root.setAttribute('data-theme',dark()?'light':'dark');label()});
label();
function key(row,i){var c=row.cells[i],v=c.getAttribute('data-v');return v===null?(c.classList.contains('n')?null:c.textContent):Number(v)}
document.querySelectorAll('#table-runs thead th').forEach(function(head,i){
head.tabIndex=0;
function sort(){
var up=head.getAttribute('aria-sort')!=='ascending',body=head.closest('table').tBodies[0];
head.parentNode.querySelectorAll('th').forEach(function(h){h.removeAttribute('aria-sort')});
head.setAttribute('aria-sort',up?'ascending':'descending');
Array.from(body.rows).sort(function(a,b){var x=key(a,i),y=key(b,i);
if(x===null||y===null)return (x===null)-(y===null);
var d=typeof x==='number'?x-y:x.localeCompare(y);return up?d:-d}).forEach(function(r){body.appendChild(r)});
}
head.addEventListener('click',sort);
head.addEventListener('keydown',function(e){if(e.key==='Enter'||e.key===' '){e.preventDefault();sort()}});
});
})();
)";

std::string colours(const char* page, bool dark) {
  std::string made = page;
  for (int i = 0; i < kInks; ++i)
    made += fmt::format("--ink-{}:{};", ink_name(static_cast<Ink>(i)),
                        ink_colour(static_cast<Ink>(i), dark));
  return made;
}

}  // namespace

std::string report_style() {
  const std::string light = colours(kLight, false), dark = colours(kDark, true);
  return fmt::format(
             ":root{{color-scheme:light;{}}}\n@media "
             "(prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{}}}}}"
             "\n:root[data-theme=dark]{{color-scheme:dark;{}}}",
             light, dark, dark) +
         kRules;
}

std::string report_behaviour() { return kBehaviour; }

}  // namespace skein
