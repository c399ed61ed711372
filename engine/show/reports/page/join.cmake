# Joins PARTS (page.html, style.css, then scripts) to one page, and writes it as C++ to OUTPUT.
#
# The content security policy names the script and the style by their hashes: nothing else runs,
# even if something of a model's names were ever to become markup.

# base64(<result> <hex digits>): four letters for every six digits.
function(base64 result digits)
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${digits}" length)
  set(text "")
  foreach(begin RANGE 0 ${length} 6)
    string(SUBSTRING "${digits}" ${begin} 6 six)
    string(LENGTH "${six}" count)
    if(count EQUAL 0)
      break()
    endif()
    string(SUBSTRING "${six}000000" 0 6 full)
    math(EXPR value "0x${full}")
    math(EXPR last "${count} / 2")  # bytes 1, 2, 3 give letters 2, 3, 4
    foreach(letter RANGE 0 3)
      if(letter GREATER last)
        string(APPEND text "=")
        continue()
      endif()
      math(EXPR index "(${value} >> (18 - 6 * ${letter})) & 63")
      string(SUBSTRING "${letters}" ${index} 1 one)
      string(APPEND text "${one}")
    endforeach()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

list(POP_FRONT PARTS html_file style_file)
file(READ ${html_file} page)
file(READ ${style_file} style)
set(script "'use strict';\n")
foreach(part IN LISTS PARTS)
  file(READ ${part} text)
  string(APPEND script "${text}")
endforeach()
foreach(name style script)
  string(SHA256 hash "${${name}}")
  base64(hash "${hash}")
  string(REPLACE "BERTH_${name}_HASH" "sha256-${hash}" page "${page}")
  string(REPLACE "BERTH_${name}" "${${name}}" page "${page}")
endforeach()

# Compilers limit the length of one literal; adjacent ones are joined.
string(LENGTH "${page}" length)
set(literals "")
foreach(begin RANGE 0 ${length} 8000)
  string(SUBSTRING "${page}" ${begin} 8000 part)
  string(APPEND literals "R\"~page~(${part})~page~\"\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"reports/page.h\"\n\nnamespace berth::reports {\n\n"
  "const std::string_view kPage =\n${literals};\n\n}  // namespace berth::reports\n")
