#!/usr/bin/python3
_ANSIBALLZ_WRAPPER = True # words
def _ansiballz_main():
    ZIPDATA = """UEsDBBQAAAAIAAAAIQAAAAAAAgAAAAAAAAATAAAAYW5zaWJsZS9fX2luaXRfXy5weQMAUEsDBBQAAAAIAAAAIQABZMwZHQAAAB4AAAAdAAAAYW5zaWJsZS9tb2R1bGVfdXRpbHMvYmFzaWMucHlLzkksLlZwzCvOTMpJ9c1PKc1JteJSAIICoDgXAFBLAwQUAAAACAAAACEAUe60HjwAAABBAAAAFwAAAGFuc2libGUvbW9kdWxlcy9waW5nLnB5SyvKz1VIzCvOTMpJ1cvNTynNSY0vLcnMKdZLSizOTFbIzC3ILypRcISo8AUr4Cooyswr0VCqrlXS5AIAUEsBAhQDFAAAAAgAAAAhAAAAAAACAAAAAAAAABMAAAAAAAAAAAAAAIABAAAAAGFuc2libGUvX19pbml0X18ucHlQSwECFAMUAAAACAAAACEAAWTMGR0AAAAeAAAAHQAAAAAAAAAAAAAAgAEzAAAAYW5zaWJsZS9tb2R1bGVfdXRpbHMvYmFzaWMucHlQSwECFAMUAAAACAAAACEAUe60HjwAAABBAAAAFwAAAAAAAAAAAAAAgAGLAAAAYW5zaWJsZS9tb2R1bGVzL3BpbmcucHlQSwUGAAAAAAMAAwDRAAAA/AAAAAAA"""
    def invoke_module(modlib_path, temp_path, json_params):
        runpy.run_module(mod_name='ansible.modules.ping', init_globals=dict(), run_name='__main__', alter_sys=True)
    ANSIBALLZ_PARAMS = '{"ANSIBLE_MODULE_ARGS": {"data": "it\'s \\"x\\"", "_ansible_check_mode": false, "_ansible_version": "2.19.14"}}'
    if PY3:
        ANSIBALLZ_PARAMS = ANSIBALLZ_PARAMS.encode('utf-8')
if __name__ == '__main__':
    _ansiballz_main()
